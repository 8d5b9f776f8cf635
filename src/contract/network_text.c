/* SPDX-License-Identifier: MIT */
/*
 * The text of a network as numbers, and the extents of its labels.
 *
 * Labels are numbered in the order in which they first stand in the text; a
 * table over their code points finds them again, as there may be thousands.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/einsum.h"
#include "contract/error.h"
#include "contract/network.h"

int
network_no_memory(struct lend_error *why)
{
	return lend__fail(why, -ENOMEM, "no memory for the network");
}

struct value_text
value_text(const struct lend_network *net, size_t value)
{
	struct value_text name;

	if (value < net->count)
		snprintf(name.text, sizeof(name.text), "operand %zu", value);
	else
		snprintf(name.text, sizeof(name.text), "the result of step %zu",
			 value - net->count);
	return name;
}

/* Reading the labels. */

struct reader {
	struct lend_network *net;
	const char *text;
	size_t at;
	uint32_t *place;	/* code point -> number + 1, hashed; 0: none */
	size_t places;		/* a power of two */
	struct lend_error *why;
};

static uint32_t
number(struct reader *reader, uint32_t point)
{
	struct lend_network *net = reader->net;
	size_t at = point * 0x9e3779b1u & (reader->places - 1);

	while (reader->place[at] &&
	       net->point[reader->place[at] - 1] != point)
		at = (at + 1) & (reader->places - 1);
	if (!reader->place[at]) {
		net->point[net->labels++] = point;
		reader->place[at] = (uint32_t)net->labels;
	}
	return reader->place[at] - 1;
}

/* The labels of `value`, which messages call `name`. */
static int
read_labels(struct reader *reader, struct value *value, const char *name)
{
	uint32_t label[LEND_MAX_RANK];

	for (;;) {
		uint32_t point = 0;
		size_t bytes;
		int error = einsum_next(reader->text, &reader->at, &point,
					&bytes, reader->why);

		if (error)
			return error;
		if (!bytes)
			break;
		if (value->rank == LEND_MAX_RANK)
			return lend__fail(reader->why, -EINVAL,
				"einsum, byte %zu: %s has more than %d labels",
				reader->at, name, LEND_MAX_RANK);
		label[value->rank++] = number(reader, point);
		reader->at += bytes;
	}
	value->label = store_get(&reader->net->store, value->rank,
				 sizeof(*label));
	if (!value->label)
		return network_no_memory(reader->why);
	memcpy(value->label, label, value->rank * sizeof(*label));
	return 0;
}

static int
read_operands(struct reader *reader)
{
	struct lend_network *net = reader->net;

	for (size_t i = 0; i < net->count; i++) {
		int error = read_labels(reader, &net->value[i],
					value_text(net, i).text);
		bool more = reader->text[reader->at] == ',';

		if (error)
			return error;
		if (more && i + 1 == net->count)
			return lend__fail(reader->why, -EINVAL,
				"einsum, byte %zu: more than the %zu operands "
				"there are", reader->at, net->count);
		if (reader->text[reader->at] == '.')
			return einsum_expect(reader->text, &reader->at, ",",
					     "after an operand", reader->why);
		if (!more && i + 1 < net->count)
			return lend__fail(reader->why, -EINVAL,
				"einsum, byte %zu: %zu operands, but there "
				"are %zu", reader->at, i + 1, net->count);
		reader->at += more;
	}
	return 0;
}

/* In how many places of the operands each label stands; null: no memory. */
static size_t *
count_places(const struct lend_network *net)
{
	size_t *count = calloc(net->labels + 1, sizeof(*count));

	for (size_t i = 0; count && i < net->count; i++)
		for (size_t j = 0; j < net->value[i].rank; j++)
			count[net->value[i].label[j]]++;
	return count;
}

/* Without "->": what stands once, in the order of the code points. */
static int
imply_output(struct lend_network *net, const size_t *places,
	     struct lend_error *why)
{
	struct value *out = &net->output;
	uint32_t label[LEND_MAX_RANK];

	for (size_t i = 0; i < net->labels; i++) {
		size_t at = out->rank;

		if (places[i] != 1)
			continue;
		if (out->rank == LEND_MAX_RANK)
			return lend__fail(why, -EINVAL,
				"einsum: the output has more than %d labels",
				LEND_MAX_RANK);
		for (; at > 0 && net->point[label[at - 1]] > net->point[i];
		     at--)
			label[at] = label[at - 1];
		label[at] = (uint32_t)i;
		out->rank++;
	}
	out->label = store_get(&net->store, out->rank, sizeof(*label));
	if (!out->label)
		return network_no_memory(why);
	memcpy(out->label, label, out->rank * sizeof(*label));
	return 0;
}

static int
check_output(const struct lend_network *net, const size_t *places,
	     struct lend_error *why)
{
	const struct value *out = &net->output;

	for (size_t i = 0; i < out->rank; i++) {
		uint32_t label = out->label[i];
		struct label_text text = label_text(net->point[label]);

		if (!places[label])
			return lend__fail(why, -EINVAL,
				"einsum: label '%s' of the output is in no "
				"operand", text.utf8);
		for (size_t j = 0; j < i; j++)
			if (out->label[j] == label)
				return lend__fail(why, -EINVAL,
					"einsum: label '%s' stands twice in "
					"the output", text.utf8);
	}
	return 0;
}

static int
read_output(struct reader *reader)
{
	struct lend_network *net = reader->net;
	const char *text = reader->text;
	size_t *places;
	int error = 0;

	net->implied = !text[reader->at];
	if (!net->implied)
		error = einsum_expect(text, &reader->at, "->",
				      "after the operands", reader->why);
	if (!error && !net->implied)
		error = read_labels(reader, &net->output, "the output");
	if (!error && text[reader->at])
		error = einsum_expect(text, &reader->at, "the end",
				      "after the output", reader->why);
	if (error)
		return error;
	places = count_places(net);
	if (!places)
		return network_no_memory(reader->why);
	error = net->implied ? imply_output(net, places, reader->why) :
			       check_output(net, places, reader->why);
	free(places);
	return error;
}

int
network_text_read(struct lend_network *net, const char *text,
		  struct lend_error *why)
{
	/* A label takes a byte at least. */
	size_t most = strlen(text) + 1;
	struct reader reader = {
		.net = net, .text = text, .places = 16, .why = why
	};
	int error;

	if (most > UINT32_MAX / 4)
		return lend__fail(why, -EINVAL, "einsum: %zu bytes are too "
				  "many", most - 1);
	while (reader.places < 2 * most)
		reader.places *= 2;
	net->point = store_get(&net->store, most, sizeof(*net->point));
	reader.place = calloc(reader.places, sizeof(*reader.place));
	if (!net->point || !reader.place) {
		free(reader.place);
		return network_no_memory(why);
	}
	error = read_operands(&reader);
	if (!error)
		error = read_output(&reader);
	free(reader.place);
	return error;
}

/* Extents. */

/* The operand that first had the label. */
static size_t
first_with(const struct lend_network *net, uint32_t label)
{
	for (size_t i = 0; i < net->count; i++)
		for (size_t j = 0; j < net->value[i].rank; j++)
			if (net->value[i].label[j] == label)
				return i;
	return net->count;
}

/* Takes a copy of the layout; learns and checks the labels' extents. */
static int
read_layout(struct lend_network *net, struct value *value, const char *name,
	    const struct lend_layout *layout, bool *known,
	    struct lend_error *why)
{
	size_t *extent = store_get(&net->store, value->rank, sizeof(*extent));
	ptrdiff_t *stride = store_get(&net->store, value->rank,
				      sizeof(*stride));

	if (!extent || !stride)
		return network_no_memory(why);
	if (layout->rank != value->rank)
		return lend__fail(why, -EINVAL,
			"%s has %zu dimensions, the einsum names %zu labels",
			name, layout->rank, value->rank);
	if (value->rank && !layout->extent)
		return lend__fail(why, -EINVAL, "%s has no extents", name);
	for (size_t i = 0; i < value->rank; i++) {
		uint32_t label = value->label[i];

		extent[i] = layout->extent[i];
		if (known[label] && net->extent[label] != extent[i])
			return lend__fail(why, -EINVAL,
				"label '%s': extent %zu in dimension %zu of "
				"%s, but %zu in operand %zu",
				label_text(net->point[label]).utf8, extent[i],
				i, name, net->extent[label],
				first_with(net, label));
		net->extent[label] = extent[i];
		known[label] = true;
	}
	value->extent = extent;
	if (layout->stride && value->rank) {
		memcpy(stride, layout->stride, value->rank * sizeof(*stride));
		value->stride = stride;
	}
	return 0;
}

/* An output of strides alone has the inputs' extents. */
static int
read_output_layout(struct lend_network *net, const struct lend_layout *given,
		   bool *known, struct lend_error *why)
{
	size_t rank = net->output.rank;
	size_t extent[LEND_MAX_RANK];
	struct lend_layout layout = { rank, extent, NULL };

	for (size_t i = 0; i < rank; i++)
		extent[i] = net->extent[net->output.label[i]];
	if (given && given->rank != rank)
		return lend__fail(why, -EINVAL, "the output has %zu "
			"dimensions, the einsum names %zu labels",
			given->rank, rank);
	if (given && given->extent)
		layout.extent = given->extent;
	if (given)
		layout.stride = given->stride;
	return read_layout(net, &net->output, "the output", &layout, known,
			   why);
}

int
network_extents_read(struct lend_network *net,
		     const struct lend_layout *layouts,
		     const struct lend_layout *output, struct lend_error *why)
{
	bool *known = calloc(net->labels + 1, sizeof(*known));
	int error = 0;

	net->extent = store_get(&net->store, net->labels,
				sizeof(*net->extent));
	if (!known || !net->extent)
		error = network_no_memory(why);
	for (size_t i = 0; i < net->count && !error; i++)
		error = read_layout(net, &net->value[i],
				    value_text(net, i).text, &layouts[i],
				    known, why);
	if (!error)
		error = read_output_layout(net, output, known, why);
	free(known);
	return error;
}
