/* SPDX-License-Identifier: MIT */
/*
 * The explorer's operations under the names of base/atomic.h, which includes
 * this file where LEND_MODEL is defined.  The code under test is compiled
 * unchanged; each operation becomes a step of the explorer (explorer.h).
 *
 * An object is known by its address and size: 1, 4 or 8 bytes, always
 * accessed whole.  Values travel as uint64_t; the casts are through the
 * object's own type, so that an int constant does not sign-extend into a
 * narrower unsigned object, and pointers and bool keep their type.
 * <stdatomic.h> is left out on purpose: an operation that would bypass the
 * explorer does not compile.
 */
#ifndef LEND_MODEL_ATOMIC_H
#define LEND_MODEL_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum model_order {
	MODEL_ORDER_RELAXED = 0,
	MODEL_ORDER_ACQUIRE = 1,
	MODEL_ORDER_RELEASE = 2,
	MODEL_ORDER_ACQ_REL = MODEL_ORDER_ACQUIRE | MODEL_ORDER_RELEASE
};

/* `text` is the operation as the source has it, for the schedule. */
uint64_t model_load(const void *object, size_t size, enum model_order order,
		    const char *text);
void model_store(void *object, size_t size, uint64_t value,
		 enum model_order order, const char *text);
/* Exchange, or fetch and add. */
uint64_t model_modify(void *object, size_t size, bool add, uint64_t value,
		      enum model_order order, const char *text);
bool model_cas(void *object, size_t size, void *expected, uint64_t value,
	       enum model_order order, enum model_order failure,
	       const char *text);
void model_compiler_barrier(void);

_Noreturn void model_assert_failed(const char *file, int line,
				   const char *what);

/* In a thread of a model, or its finish(): ends the execution as failed. */
#define MODEL_ASSERT(x) \
	((x) ? (void)0 : model_assert_failed(__FILE__, __LINE__, #x))

/* The type of *p without _Atomic and const: a comma's result has neither. */
#define MODEL_TYPE(p)	__typeof__((void)0, *(p))
#define MODEL_WORD(p, v) ((uint64_t)(MODEL_TYPE(p))(v))
/* A statement expression, so that the value may be left unused. */
#define MODEL_VALUE(p, word) __extension__ ({ (MODEL_TYPE(p))(word); })

#define MODEL_LOAD(p, order, text) \
	MODEL_VALUE(p, model_load((p), sizeof(*(p)), (order), text))
#define MODEL_STORE(p, v, order, text) \
	model_store((p), sizeof(*(p)), MODEL_WORD(p, v), (order), text)
#define MODEL_EXCHANGE(p, v, order, text) \
	MODEL_VALUE(p, model_modify((p), sizeof(*(p)), false, \
				    MODEL_WORD(p, v), (order), text))
#define MODEL_FETCH_ADD(p, word, order, text) \
	MODEL_VALUE(p, model_modify((p), sizeof(*(p)), true, (word), \
				    (order), text))
/* The conditional makes the compiler compare the types of *e and *p. */
#define MODEL_CAS(p, e, v, order, failure, text) \
	model_cas((p), sizeof(*(p)), 1 ? (e) : (MODEL_TYPE(p) *)0, \
		  MODEL_WORD(p, v), (order), (failure), text)

#define load_relaxed(p) \
	MODEL_LOAD(p, MODEL_ORDER_RELAXED, "load_relaxed(" #p ")")
#define load_acquire(p) \
	MODEL_LOAD(p, MODEL_ORDER_ACQUIRE, "load_acquire(" #p ")")

#define store_relaxed(p, v) \
	MODEL_STORE(p, v, MODEL_ORDER_RELAXED, \
		    "store_relaxed(" #p ", " #v ")")
#define store_release(p, v) \
	MODEL_STORE(p, v, MODEL_ORDER_RELEASE, \
		    "store_release(" #p ", " #v ")")

#define exchange_relaxed(p, v) \
	MODEL_EXCHANGE(p, v, MODEL_ORDER_RELAXED, \
		       "exchange_relaxed(" #p ", " #v ")")
#define exchange_acquire(p, v) \
	MODEL_EXCHANGE(p, v, MODEL_ORDER_ACQUIRE, \
		       "exchange_acquire(" #p ", " #v ")")
#define exchange_acq_rel(p, v) \
	MODEL_EXCHANGE(p, v, MODEL_ORDER_ACQ_REL, \
		       "exchange_acq_rel(" #p ", " #v ")")

#define fetch_add_relaxed(p, v) \
	MODEL_FETCH_ADD(p, MODEL_WORD(p, v), MODEL_ORDER_RELAXED, \
			"fetch_add_relaxed(" #p ", " #v ")")
#define fetch_add_acq_rel(p, v) \
	MODEL_FETCH_ADD(p, MODEL_WORD(p, v), MODEL_ORDER_ACQ_REL, \
			"fetch_add_acq_rel(" #p ", " #v ")")
#define fetch_sub_relaxed(p, v) \
	MODEL_FETCH_ADD(p, -MODEL_WORD(p, v), MODEL_ORDER_RELAXED, \
			"fetch_sub_relaxed(" #p ", " #v ")")
#define fetch_sub_release(p, v) \
	MODEL_FETCH_ADD(p, -MODEL_WORD(p, v), MODEL_ORDER_RELEASE, \
			"fetch_sub_release(" #p ", " #v ")")

#define cas_relaxed(p, expected, v) \
	MODEL_CAS(p, expected, v, MODEL_ORDER_RELAXED, MODEL_ORDER_RELAXED, \
		  "cas_relaxed(" #p ", " #expected ", " #v ")")
#define cas_release_relaxed(p, expected, v) \
	MODEL_CAS(p, expected, v, MODEL_ORDER_RELEASE, MODEL_ORDER_RELAXED, \
		  "cas_release_relaxed(" #p ", " #expected ", " #v ")")
#define cas_acquire_acquire(p, expected, v) \
	MODEL_CAS(p, expected, v, MODEL_ORDER_ACQUIRE, MODEL_ORDER_ACQUIRE, \
		  "cas_acquire_acquire(" #p ", " #expected ", " #v ")")
#define cas_acq_rel_acquire(p, expected, v) \
	MODEL_CAS(p, expected, v, MODEL_ORDER_ACQ_REL, MODEL_ORDER_ACQUIRE, \
		  "cas_acq_rel_acquire(" #p ", " #expected ", " #v ")")
#define cas_acq_rel_relaxed(p, expected, v) \
	MODEL_CAS(p, expected, v, MODEL_ORDER_ACQ_REL, MODEL_ORDER_RELAXED, \
		  "cas_acq_rel_relaxed(" #p ", " #expected ", " #v ")")

#define compiler_barrier()	model_compiler_barrier()

#endif
