/* SPDX-License-Identifier: MIT */
/*
 * Two panels of one SVG, both over the number of clients: requests a second,
 * and latency (a whole line the median, a broken one p99), logarithmic.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "tools/load.h"
#include "tools/message.h"
#include "tools/print.h"

#define WIDTH 420
#define HEIGHT 300
#define LEFT 80
#define TOP 40
#define APART (WIDTH + 110)

static const char *const colours[LOAD_KINDS] = {
	[LENDER_LEND] = "#0072b2", [LENDER_MUTEX] = "#e69f00",
	[LENDER_MALLOC] = "#d55e00"
};

/* What a line shows of a result. */
typedef double figure(const struct load_result *result);

static double
median(const struct load_result *result)
{
	return latency_at(&result->latency, 0.5);
}

static double
tail(const struct load_result *result)
{
	return latency_at(&result->latency, 0.99);
}

struct panel {
	FILE *file;
	const struct load *load;
	double x;		/* of its left edge */
	double low, high;	/* of its figures */
	bool logarithmic;
};

static double
x_of(const struct panel *panel, double clients)
{
	double most = log2((double)panel->load->options->clients);

	return panel->x + (most > 0 ? log2(clients) / most : 0.5) * WIDTH;
}

static double
y_of(const struct panel *panel, double value)
{
	double share = panel->logarithmic ?
		log(value / panel->low) / log(panel->high / panel->low) :
		(value - panel->low) / (panel->high - panel->low);

	return TOP + HEIGHT - share * HEIGHT;
}

static void
line(const struct panel *panel, enum lender_kind kind, figure *of,
     bool broken)
{
	fprintf(panel->file, "<polyline fill=\"none\" stroke=\"%s\" "
		"stroke-width=\"2\"%s points=\"", colours[kind],
		broken ? " stroke-dasharray=\"6 4\"" : "");
	for (size_t i = 0; i < panel->load->results_count; i++) {
		const struct load_result *r = &panel->load->results[i];

		if (r->kind == kind && isfinite(of(r)) && of(r) > 0)
			fprintf(panel->file, "%.1f,%.1f ",
				x_of(panel, (double)r->clients),
				y_of(panel, of(r)));
	}
	fprintf(panel->file, "\"/>\n");
}

static void
label(FILE *file, double x, double y, const char *anchor, const char *text)
{
	fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s"
		"</text>\n", x, y, anchor, text);
}

static void
rule(const struct panel *panel, double value, const char *text)
{
	double y = y_of(panel, value);

	fprintf(panel->file, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
		"y2=\"%.1f\" stroke=\"#ccc\"/>\n", panel->x, y,
		panel->x + WIDTH, y);
	label(panel->file, panel->x - 6, y + 4, "end", text);
}

static void
rules(const struct panel *panel)
{
	char text[PRINT_SIZE];

	if (panel->logarithmic) {
		for (double v = panel->low; v < panel->high * 1.01; v *= 10)
			rule(panel, v, print_seconds(v, text));
		return;
	}
	for (int i = 0; i <= 4; i++) {
		double v = panel->high * i / 4;

		snprintf(text, sizeof text, "%.4g", v);
		rule(panel, v, text);
	}
}

static void
axes(const struct panel *panel, const char *title)
{
	label(panel->file, panel->x + WIDTH / 2.0, TOP - 14, "middle", title);
	label(panel->file, panel->x + WIDTH / 2.0, TOP + HEIGHT + 38, "middle",
	      "clients");
	for (size_t i = 0; i < panel->load->results_count; i += LOAD_KINDS) {
		size_t clients = panel->load->results[i].clients;
		char text[PRINT_SIZE];

		snprintf(text, sizeof text, "%zu", clients);
		label(panel->file, x_of(panel, (double)clients),
		      TOP + HEIGHT + 18, "middle", text);
	}
}

/* The least and the largest figure, to whole powers of ten if asked. */
static void
find_range(struct panel *panel, figure *low, figure *high)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < panel->load->results_count; i++) {
		double l = low(&panel->load->results[i]);
		double h = high(&panel->load->results[i]);

		least = l > 0 ? fmin(least, l) : least;
		most = isfinite(h) ? fmax(most, h) : most;
	}
	most = most > 0 ? most : 1;
	least = isfinite(least) ? least : most;
	panel->low = panel->logarithmic ? pow(10, floor(log10(least))) : 0;
	panel->high = panel->logarithmic ? pow(10, ceil(log10(most))) :
					   most * 1.05;
	if (panel->high <= panel->low)
		panel->high = panel->low * 10;
}

static void
draw(FILE *file, const struct load *load)
{
	struct panel rate = { file, load, LEFT, 0, 0, false };
	struct panel latency = { file, load, LEFT + APART, 0, 0, true };

	fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" "
		"width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
		"font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
		"fill=\"white\"/>\n", LEFT + APART + WIDTH + 30,
		TOP + HEIGHT + 90);
	find_range(&rate, load_rate, load_rate);
	find_range(&latency, median, tail);
	rules(&rate);
	axes(&rate, "requests a second");
	rules(&latency);
	axes(&latency, "latency: median, p99 broken");
	for (int kind = 0; kind < LOAD_KINDS; kind++) {
		double x = LEFT + 110 * kind, y = TOP + HEIGHT + 66;

		line(&rate, (enum lender_kind)kind, load_rate, false);
		line(&latency, (enum lender_kind)kind, median, false);
		line(&latency, (enum lender_kind)kind, tail, true);
		fprintf(file, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
			"y2=\"%.1f\" stroke=\"%s\" stroke-width=\"2\"/>\n",
			x, y, x + 30, y, colours[kind]);
		label(file, x + 36, y + 4, "start",
		      lender_name((enum lender_kind)kind));
	}
	fputs("</svg>\n", file);
}

int
load_plot(const struct load *load)
{
	const char *path = load->options->plot;
	FILE *file = fopen(path, "we");
	bool bad;

	if (!file)
		return complain("%s: %s", path, strerror(errno));
	draw(file, load);
	bad = ferror(file);
	if (fclose(file) || bad)
		return complain("%s: %s", path, strerror(errno));
	return 0;
}
