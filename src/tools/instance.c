/* SPDX-License-Identifier: MIT */
#include "tools/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is wrong with a value that should be something else. */
static const char *
kind_of(const json_t *value)
{
	if (!value)
		return "absent";
	switch (json_typeof(value)) {
	case JSON_OBJECT: return "an object";
	case JSON_ARRAY: return "an array";
	case JSON_STRING: return "a string";
	case JSON_INTEGER: return "a number";
	case JSON_REAL: return "a number with a fraction";
	case JSON_TRUE:
	case JSON_FALSE: return "a truth value";
	case JSON_NULL: return "null";
	}
	return "unknown";
}

static bool
no_memory(struct message *why)
{
	return refuse(why, "no memory for what it describes");
}

/* A whole number from 0 on; `where` is for the message. */
static bool
read_number(const json_t *value, const char *where, size_t i, size_t j,
	    size_t *number, struct message *why)
{
	if (!json_is_integer(value))
		return refuse(why, "%s[%zu][%zu] is %s, not a whole number",
			      where, i, j, kind_of(value));
	if (json_integer_value(value) < 0)
		return refuse(why, "%s[%zu][%zu] is negative", where, i, j);
	*number = (size_t)json_integer_value(value);
	return true;
}

/* Shapes. */

static bool
read_shape(struct instance *instance, size_t i, const json_t *shape,
	   size_t *extent, struct message *why)
{
	instance->layout[i].rank = json_array_size(shape);
	instance->layout[i].extent = extent;
	for (size_t j = 0; j < json_array_size(shape); j++)
		if (!read_number(json_array_get(shape, j), "shapes", i, j,
				 &extent[j], why))
			return false;
	return true;
}

static bool
read_shapes(struct instance *instance, const json_t *shapes,
	    struct message *why)
{
	size_t total = 0, count = json_array_size(shapes);

	if (!json_is_array(shapes))
		return refuse(why, "'shapes' is %s, not an array",
			      kind_of(shapes));
	if (count == 0)
		return refuse(why, "'shapes' is empty");
	for (size_t i = 0; i < count; i++) {
		const json_t *shape = json_array_get(shapes, i);

		if (!json_is_array(shape))
			return refuse(why, "shapes[%zu] is %s, not an array",
				      i, kind_of(shape));
		total += json_array_size(shape);
	}
	instance->count = count;
	instance->layout = calloc(count, sizeof *instance->layout);
	instance->extents = calloc(total + 1, sizeof *instance->extents);
	if (!instance->layout || !instance->extents)
		return no_memory(why);
	total = 0;
	for (size_t i = 0; i < count; i++) {
		if (!read_shape(instance, i, json_array_get(shapes, i),
				instance->extents + total, why))
			return false;
		total += instance->layout[i].rank;
	}
	return true;
}

/* Names.  They are shown, and a terminal obeys control characters. */

static bool
check_name(const char *what, const char *name, struct message *why)
{
	const unsigned char *p = (const unsigned char *)name;

	/* It is UTF-8: after 0xc2 come the controls from 0x80 on. */
	for (; *p; p++)
		if (*p < ' ' || *p == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0))
			return refuse(why, "%s has a control character", what);
	return true;
}

/* Paths. */

static bool
read_pair(const json_t *pair, const char *where, size_t i,
	  struct lend_network_pair *to, struct message *why)
{
	if (!json_is_array(pair))
		return refuse(why, "%s[%zu] is %s, not a pair", where, i,
			      kind_of(pair));
	if (json_array_size(pair) != 2)
		return refuse(why, "%s[%zu] names %zu tensors, not two", where,
			      i, json_array_size(pair));
	return read_number(json_array_get(pair, 0), where, i, 0, &to->first,
			   why) &&
	       read_number(json_array_get(pair, 1), where, i, 1, &to->second,
			   why);
}

static bool
read_path(struct instance_path *path, const char *name, const json_t *object,
	  struct message *why)
{
	const json_t *pairs = json_object_get(object, "path");
	size_t steps = json_array_size(pairs);
	char where[128];

	if (!check_name("the name of a path", name, why))
		return false;
	snprintf(where, sizeof where, "paths.%.64s.path", name);
	if (!json_is_array(pairs))
		return refuse(why, "%s is %s, not an array", where,
			      kind_of(pairs));
	path->name = strdup(name);
	path->pair = calloc(steps + 1, sizeof *path->pair);
	path->steps = steps;
	if (!path->name || !path->pair)
		return no_memory(why);
	for (size_t i = 0; i < steps; i++)
		if (!read_pair(json_array_get(pairs, i), where, i,
			       &path->pair[i], why))
			return false;
	return true;
}

static bool
read_paths(struct instance *instance, json_t *paths, struct message *why)
{
	const char *name;
	json_t *object;

	if (!paths)
		return true;
	if (!json_is_object(paths))
		return refuse(why, "'paths' is %s, not an object",
			      kind_of(paths));
	instance->path = calloc(json_object_size(paths) + 1,
				sizeof *instance->path);
	if (!instance->path)
		return no_memory(why);
	json_object_foreach(paths, name, object)
		if (!read_path(&instance->path[instance->paths++], name,
			       object, why))
			return false;
	return true;
}

/* The rest. */

static bool
read_type(struct instance *instance, const json_t *type, struct message *why)
{
	static const char *const name[] = {
		[LEND_F32] = "float32", [LEND_F64] = "float64",
		[LEND_CF32] = "complex64", [LEND_CF64] = "complex128",
	};

	instance->type = LEND_F64;
	if (!type)
		return true;
	if (!json_is_string(type))
		return refuse(why, "'dtype' is %s, not a string",
			      kind_of(type));
	for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
		if (strcmp(json_string_value(type), name[i]))
			continue;
		instance->type = (enum lend_type)i;
		return true;
	}
	return refuse(why, "'dtype' is none of float32, float64, complex64 "
		      "and complex128");
}

static bool
read_text(const json_t *root, const char *key, bool needed, char **text,
	  struct message *why)
{
	const json_t *value = json_object_get(root, key);

	if (!value && !needed)
		return true;
	if (!json_is_string(value))
		return refuse(why, "'%s' is %s, not a string", key,
			      kind_of(value));
	*text = strdup(json_string_value(value));
	return *text || no_memory(why);
}

static bool
read_root(struct instance *instance, const json_t *root, struct message *why)
{
	if (!json_is_object(root))
		return refuse(why, "it is %s, not an object", kind_of(root));
	return read_text(root, "format_string", true, &instance->einsum,
			 why) &&
	       read_text(root, "name", false, &instance->name, why) &&
	       (!instance->name ||
		check_name("'name'", instance->name, why)) &&
	       read_type(instance, json_object_get(root, "dtype"), why) &&
	       read_shapes(instance, json_object_get(root, "shapes"), why) &&
	       read_paths(instance, json_object_get(root, "paths"), why);
}

/* Its text may quote the file: printable characters alone. */
static bool
refuse_json(const json_error_t *error, struct message *why)
{
	refuse(why, "line %d, column %d: %s", error->line, error->column,
	       error->text);
	for (char *c = why->text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return false;
}

bool
instance_parse(struct instance *instance, const char *bytes, size_t size,
	       struct message *why)
{
	json_error_t error;
	json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
	bool right;

	memset(instance, 0, sizeof *instance);
	if (!root)
		return refuse_json(&error, why);
	right = read_root(instance, root, why);
	json_decref(root);
	if (!right)
		instance_free(instance);
	return right;
}

void
instance_free(struct instance *instance)
{
	for (size_t i = 0; i < instance->paths; i++) {
		free(instance->path[i].name);
		free(instance->path[i].pair);
	}
	free(instance->path);
	free(instance->name);
	free(instance->einsum);
	free(instance->layout);
	free(instance->extents);
	memset(instance, 0, sizeof *instance);
}

const struct instance_path *
instance_path(const struct instance *instance, const char *name)
{
	for (size_t i = 0; i < instance->paths; i++)
		if (!strcmp(instance->path[i].name, name))
			return &instance->path[i];
	return NULL;
}

/* Files. */

static char *
read_all(int fd, size_t size, size_t *got, struct message *why)
{
	char *bytes = malloc(size + 1);

	*got = 0;
	if (!bytes) {
		no_memory(why);
		return NULL;
	}
	while (*got < size) {
		ssize_t n = read(fd, bytes + *got, size - *got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			refuse(why, "%s", strerror(errno));
			free(bytes);
			return NULL;
		}
		if (n == 0)
			break;
		*got += (size_t)n;
	}
	return bytes;
}

static char *
read_file(int fd, size_t *size, struct message *why)
{
	struct stat seen;

	if (fstat(fd, &seen)) {
		refuse(why, "%s", strerror(errno));
		return NULL;
	}
	if (!S_ISREG(seen.st_mode)) {
		refuse(why, S_ISDIR(seen.st_mode) ? "is a directory" :
		       "is not a regular file");
		return NULL;
	}
	if ((uint64_t)seen.st_size > INSTANCE_MAX) {
		refuse(why, "%lld bytes are more than any network has",
		       (long long)seen.st_size);
		return NULL;
	}
	return read_all(fd, (size_t)seen.st_size, size, why);
}

bool
instance_read(struct instance *instance, const char *path,
	      struct message *why)
{
	/* Not to wait for the other end of what is a pipe. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	bool right = false;
	char *bytes;
	size_t size;

	if (fd < 0)
		return refuse(why, "%s", strerror(errno));
	bytes = read_file(fd, &size, why);
	close(fd);
	if (bytes)
		right = instance_parse(instance, bytes, size, why);
	free(bytes);
	return right;
}
