/* SPDX-License-Identifier: MIT */
#include "tools/network_data.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/memory.h"
#include "tools/npy.h"

static bool
prepare(struct network_data *data, size_t count, struct message *why)
{
	data->count = count;
	data->operand = calloc(count, sizeof *data->operand);
	data->bytes = calloc(count, sizeof *data->bytes);
	data->stride = calloc(count * LEND_MAX_RANK, sizeof *data->stride);
	if (data->operand && data->bytes && data->stride)
		return true;
	return refuse(why, "no memory for %zu operands", count);
}

void
network_data_free(struct network_data *data)
{
	for (size_t i = 0; data->operand && i < data->count; i++)
		memory_unmap((void *)data->operand[i], data->bytes[i]);
	free(data->operand);
	free(data->bytes);
	free(data->stride);
	memset(data, 0, sizeof *data);
}

/* Numbers. */

static uint64_t
mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static double
fraction(uint64_t key, uint64_t n)
{
	return (double)(mix(n + key) >> 11) * 0x1p-53;
}

static void
fill(void *to, enum lend_type type, size_t elements, uint64_t key,
     bool ones, double scale)
{
	bool complex = type_is_complex(type);
	float *single = to;
	double *real = to;

	for (size_t i = 0; i < elements * (complex ? 2 : 1); i++) {
		bool imaginary = complex && i % 2;
		uint64_t n = complex ? i : 2 * i;
		double x = ones ? !imaginary : fraction(key, n) +
					       (imaginary ? -0.5 : 0.5);

		if (type_real_bytes(type) == 4)
			single[i] = (float)(scale * x);
		else
			real[i] = scale * x;
	}
}

static bool
make_one(struct network_data *data, const struct instance *instance,
	 size_t t, enum lend_type type, double scale, struct message *why)
{
	const struct lend_layout *layout = &instance->layout[t];
	struct npy_header header = { .type = type, .rank = layout->rank };
	void *memory;

	if (layout->rank > LEND_MAX_RANK)
		return refuse(why, "operand %zu has %zu dimensions", t,
			      layout->rank);
	memcpy(header.extent, layout->extent,
	       layout->rank * sizeof header.extent[0]);
	if (!npy_measure(&header, &data->bytes[t], why))
		return false;
	memory = memory_map(data->bytes[t]);
	if (!memory)
		return refuse(why, "no memory for operand %zu of %zu bytes",
			      t, data->bytes[t]);
	data->operand[t] = memory;
	fill(memory, type, header.count, mix(t + mix(data->seed)),
	     data->kind == DATA_ONES, scale);
	return true;
}

bool
network_data_make(struct network_data *data, const struct instance *instance,
		  enum lend_type type, struct message *why)
{
	const char *text = instance->einsum;

	if (!prepare(data, instance->count, why))
		return false;
	for (size_t t = 0; t < instance->count; t++) {
		double scale = instance_scale(instance, t, &text);

		if (!make_one(data, instance, t, type, scale, why)) {
			network_data_free(data);
			return false;
		}
	}
	return true;
}

/* Files. */

/* The name of file t to path; false: there is none. */
static bool
name_file(const char *files, size_t t, char path[PATH_MAX],
	  struct message *why)
{
	struct stat seen;
	size_t length;

	if (!stat(files, &seen) && S_ISDIR(seen.st_mode)) {
		if (snprintf(path, PATH_MAX, "%s/%zu.npy", files, t) >=
		    PATH_MAX)
			return refuse(why, "%s: its name is too long", files);
		return true;
	}
	for (size_t i = 0; i < t; i++) {
		files += strcspn(files, ",");
		if (!*files)
			return refuse(why, "--data names %zu files, which is "
				      "too few", i + 1);
		files++;
	}
	length = strcspn(files, ",");
	if (length >= PATH_MAX)
		return refuse(why, "%.40s..: its name is too long", files);
	memcpy(path, files, length);
	path[length] = '\0';
	return true;
}

static bool
too_many(const char *files, size_t count, struct message *why)
{
	struct stat seen;
	size_t names = 1;

	if (!stat(files, &seen) && S_ISDIR(seen.st_mode))
		return false;
	for (; *files; files++)
		names += *files == ',';
	if (names <= count)
		return false;
	refuse(why, "--data names %zu files for %zu operands", names, count);
	return true;
}

static bool
check_file(const struct npy_header *header, const struct lend_layout *layout,
	   const char *path, struct message *why)
{
	if (header->rank != layout->rank)
		return refuse(why, "%s: %zu dimensions, where the instance "
			      "has %zu", path, header->rank, layout->rank);
	for (size_t i = 0; i < header->rank; i++)
		if (header->extent[i] != layout->extent[i])
			return refuse(why, "%s: extent %zu in dimension %zu, "
				"where the instance has %zu", path,
				header->extent[i], i, layout->extent[i]);
	return true;
}

/* A copy of the elements as they lie: few files can be mapped at once. */
static bool
take_copy(struct network_data *data, struct lend_layout *layout, size_t t,
	  const struct npy_input *input, const char *path,
	  struct message *why)
{
	const struct npy_header *header = &input->header;
	ptrdiff_t *stride = data->stride + t * LEND_MAX_RANK;
	struct lend_layout lies;
	struct message what;
	void *memory;

	data->bytes[t] = header->count * lend_type_bytes(header->type);
	memory = memory_map(data->bytes[t]);
	if (!memory)
		return refuse(why, "%s: no memory for its %zu bytes", path,
			      data->bytes[t]);
	data->operand[t] = memory;
	memcpy(memory, input->data, data->bytes[t]);
	npy_layout(header, stride, &lies);
	layout->stride = stride;
	if (npy_unchanged(input, &what))
		return true;
	return refuse(why, "%s: %s", path, what.text);
}

static bool
read_one(struct network_data *data, struct instance *instance, size_t t,
	 const char *files, enum lend_type *type, struct message *why)
{
	struct lend_layout *layout = &instance->layout[t];
	struct npy_input input;
	char path[PATH_MAX];
	struct message what;
	bool right;

	if (!name_file(files, t, path, why))
		return false;
	if (!npy_open(&input, path, &what))
		return refuse(why, "%s: %s", path, what.text);
	if (t == 0)
		*type = input.header.type;
	right = check_file(&input.header, layout, path, why);
	if (right && input.header.type != *type)
		right = refuse(why, "%s: its elements are %s, those of the "
			"others %s", path, type_name(input.header.type),
			type_name(*type));
	if (right)
		right = take_copy(data, layout, t, &input, path, why);
	npy_close(&input);
	return right;
}

bool
network_data_read(struct network_data *data, struct instance *instance,
		  const char *files, enum lend_type *type,
		  struct message *why)
{
	if (too_many(files, instance->count, why) ||
	    !prepare(data, instance->count, why))
		return false;
	for (size_t t = 0; t < instance->count; t++)
		if (!read_one(data, instance, t, files, type, why)) {
			network_data_free(data);
			return false;
		}
	return true;
}
