/* SPDX-License-Identifier: MIT */
/*
 * What every public header needs: the mark of an exported symbol, and the
 * C linkage that a C++ program wants.
 */
#ifndef LEND_VISIBILITY_H
#define LEND_VISIBILITY_H

#if defined(__GNUC__)
#define LEND_API __attribute__((visibility("default")))
/* The result is an error code: a caller that drops it loses the error. */
#define LEND_CHECKED __attribute__((warn_unused_result))
#else
#define LEND_API
#define LEND_CHECKED
#endif

#ifdef __cplusplus
#define LEND_BEGIN_DECLS extern "C" {
#define LEND_END_DECLS }
#else
#define LEND_BEGIN_DECLS
#define LEND_END_DECLS
#endif

#endif
