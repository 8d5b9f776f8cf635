/* SPDX-License-Identifier: MIT */
/*
 * The 24 contractions of the Tensor Contraction Code Generator's benchmark as
 * published: C-A-B, the first index the fastest, and extents for which the
 * largest tensor takes about 200 MiB.
 */
#ifndef LEND_TOOLS_TCCG_H
#define LEND_TOOLS_TCCG_H

struct tccg {
	const char *name;
	const char *sizes[2];	/* of reals of 8 bytes, of 4 bytes */
};

static const struct tccg tccg[] = {
	{ "abc-bda-dc",
	  { "a:312,b:312,c:24,d:312",
	    "a:384,b:384,c:24,d:384" } },
	{ "abc-dca-bd",
	  { "a:312,b:24,c:296,d:312",
	    "a:384,b:24,c:376,d:384" } },
	{ "abcd-dbea-ec",
	  { "a:72,b:72,c:24,d:72,e:72",
	    "a:96,b:84,c:24,d:96,e:96" } },
	{ "abcd-deca-be",
	  { "a:72,b:24,c:72,d:72,e:72",
	    "a:96,b:24,c:84,d:96,e:84" } },
	{ "abcd-ebad-ce",
	  { "a:72,b:72,c:24,d:72,e:72",
	    "a:96,b:84,c:24,d:84,e:96" } },
	{ "abcde-efbad-cf",
	  { "a:48,b:32,c:24,d:32,e:48,f:32",
	    "a:48,b:36,c:24,d:36,e:48,f:36" } },
	{ "abcde-ecbfa-fd",
	  { "a:48,b:32,c:32,d:24,e:48,f:48",
	    "a:48,b:36,c:36,d:24,e:48,f:48" } },
	{ "abcde-efcad-bf",
	  { "a:48,b:24,c:32,d:32,e:48,f:32",
	    "a:48,b:24,c:36,d:36,e:48,f:36" } },
	{ "abcd-ea-ebcd",
	  { "a:72,b:72,c:72,d:72,e:72",
	    "a:96,b:84,c:84,d:84,e:96" } },
	{ "abcd-eb-aecd",
	  { "a:72,b:72,c:72,d:72,e:72",
	    "a:96,b:84,c:84,d:84,e:96" } },
	{ "abcd-ec-abed",
	  { "a:72,b:72,c:72,d:72,e:72",
	    "a:96,b:84,c:84,d:84,e:96" } },
	{ "ab-ac-cb",
	  { "a:5136,b:5120,c:5136",
	    "a:7248,b:7240,c:7248" } },
	{ "ab-acd-dbc",
	  { "a:312,b:296,c:296,d:312",
	    "a:384,b:376,c:376,d:384" } },
	{ "ab-cad-dcb",
	  { "a:312,b:296,c:312,d:312",
	    "a:384,b:376,c:384,d:384" } },
	{ "abc-acd-db",
	  { "a:312,b:296,c:296,d:312",
	    "a:384,b:376,c:376,d:384" } },
	{ "abc-adc-bd",
	  { "a:312,b:312,c:296,d:296",
	    "a:384,b:384,c:376,d:376" } },
	{ "abc-adec-ebd",
	  { "a:72,b:72,c:72,d:72,e:72",
	    "a:96,b:84,c:84,d:84,e:96" } },
	{ "abcd-aebf-dfce",
	  { "a:72,b:72,c:72,d:72,e:72,f:72",
	    "a:96,b:84,c:84,d:96,e:84,f:84" } },
	{ "abcd-aebf-fdec",
	  { "a:72,b:72,c:72,d:72,e:72,f:72",
	    "a:96,b:84,c:84,d:84,e:84,f:96" } },
	{ "abcd-eafd-fbec",
	  { "a:72,b:72,c:72,d:72,e:72,f:72",
	    "a:96,b:84,c:84,d:84,e:96,f:96" } },
	{ "abcdef-dega-gfbc",
	  { "a:24,b:16,c:16,d:24,e:16,f:16,g:24",
	    "a:24,b:20,c:20,d:24,e:20,f:20,g:24" } },
	{ "abcdef-degb-gfac",
	  { "a:24,b:16,c:16,d:24,e:16,f:16,g:24",
	    "a:24,b:20,c:20,d:24,e:20,f:20,g:24" } },
	{ "abcdef-degc-gfab",
	  { "a:24,b:16,c:16,d:24,e:16,f:16,g:24",
	    "a:24,b:20,c:20,d:24,e:20,f:20,g:24" } },
	{ "abcdef-dfgb-geac",
	  { "a:24,b:16,c:16,d:24,e:16,f:16,g:24",
	    "a:24,b:20,c:20,d:24,e:20,f:20,g:24" } },
};
#define TCCGS (sizeof tccg / sizeof tccg[0])

#endif
