/* SPDX-License-Identifier: MIT */
#include "warm/stock.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/once.h"
#include "base/os.h"
#include "base/util.h"
#include "mem/backend.h"
#include "mem/init.h"

/* Nodes that a thread keeps at hand. */
#define AT_HAND 32
/* Its address is who a thread is. */
#define ways lend__warm_ways

_Thread_local struct stock_way lend__warm_ways[STOCK_WAYS]
	__attribute__((tls_model("initial-exec")));

static pthread_key_t end_key;
static pthread_mutex_t stocks_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, stock) stocks = LIST_HEAD_INITIALIZER(stocks);

/* When a thread ends, and around fork(2). */

static void
give_up(struct stock_thread *thread)
{
	/* Release: pairs with the acquire in own(); hands the record on. */
	store_release(&thread->owner, NULL);
}

static struct stock_thread *
first(const struct stock *stock)
{
	/* Pairs with the release in add_thread. */
	return load_acquire(&stock->threads);
}

static void
thread_end(void *unused)
{
	struct stock *stock;

	(void)unused;
	pthread_mutex_lock(&stocks_lock);
	LIST_FOREACH(stock, &stocks, link)
		for (struct stock_thread *at = first(stock); at; at = at->next)
			/* Relaxed: if it is we, we stored it. */
			if (load_relaxed(&at->owner) == ways)
				give_up(at);
	pthread_mutex_unlock(&stocks_lock);
	memset(ways, 0, sizeof(ways));
}

static void
before_fork(void)
{
	pthread_mutex_lock(&stocks_lock);
}

static void
after_fork(void)
{
	pthread_mutex_unlock(&stocks_lock);
}

/*
 * Threads that begin here may have the addresses of those that are gone, but
 * not their records, which may be in any state.
 */
static void
in_child(void)
{
	static const char gone;
	struct stock *stock;

	LIST_FOREACH(stock, &stocks, link)
		for (struct stock_thread *at = first(stock); at; at = at->next) {
			/* Relaxed, both: the child has one thread. */
			const void *owner = load_relaxed(&at->owner);

			if (owner && owner != ways)
				store_relaxed(&at->owner, (const void *)&gone);
		}
	after_fork();
}

static int
start(void)
{
	static bool have_key;
	int error = have_key ? 0 : pthread_key_create(&end_key, thread_end);

	if (error)
		return -error;
	have_key = true;
	/* Neither is known to who writes ids. */
	lend__name_seed = os_now() * UINT64_C(0x9e3779b97f4a7c15) ^
			  (uint64_t)(uintptr_t)ways;
	if (!lend__conf.fork)
		return 0;
	return -pthread_atfork(before_fork, after_fork, in_child);
}

/* Buffers of values. */

static size_t
value_bytes(uint32_t cap)
{
	return offsetof(struct value, policy.entry) +
	       POLICY_ROOM(cap) * sizeof(struct policy_entry);
}

/*
 * All begin in a page, but not at the same place of it: a processor takes a
 * load for dependent on an earlier store where their last 12 bits agree.
 */
static size_t
buffer_lead(uint32_t index)
{
	return index % 8 * 4 * CACHE_LINE;
}

int
stock_value_add(struct stock *stock, uint32_t *index)
{
	struct node *node;
	struct value_buffer *buffer;
	char *pages = pages_alloc(value_bytes(stock->cap) + buffer_lead(7));
	int error = pages ? registry_add(&stock->values, &node) : -ENOMEM;

	if (error) {
		if (pages)
			pages_free(pages, value_bytes(stock->cap) +
					  buffer_lead(7));
		return error;
	}
	buffer = (struct value_buffer *)node;
	buffer->word = (void *)(pages + buffer_lead(node->index));
	*index = node->index;
	return 0;
}

static void
free_values(struct stock *stock)
{
	for (uint32_t i = 0; i < registry_count(&stock->values); i++) {
		char *words = (char *)stock_words(stock, i);

		pages_free(words - buffer_lead(i),
			   value_bytes(stock->cap) + buffer_lead(7));
	}
}

/* Records. */

static size_t
record_bytes(uint32_t cap)
{
	return sizeof(struct stock_thread) + value_bytes(cap) +
	       cap * sizeof(struct policy_pile);
}

/* A new record of the calling thread's; null: no memory. */
static struct stock_thread *
add_thread(struct stock *stock)
{
	size_t bytes = record_bytes(stock->cap);
	struct stock_thread *thread = pages_alloc(bytes);

	if (!thread)
		return NULL;
	if (stock_value_add(stock, &thread->spare)) {
		pages_free(thread, bytes);
		return NULL;
	}
	thread->bytes = bytes;
	thread->value = (struct value *)(thread + 1);
	thread->pile = (void *)((char *)thread->value +
				value_bytes(stock->cap));
	/* Relaxed: published below. */
	store_relaxed(&thread->owner, (const void *)ways);
	thread->next = load_relaxed(&stock->threads);
	/*
	 * Release: pairs with the acquire in first().  Nothing is ever taken
	 * off this list, so there is no ABA.
	 */
	while (!cas_release_relaxed(&stock->threads, &thread->next, thread))
		;
	return thread;
}

static bool
is_ours(const struct stock_thread *thread)
{
	/* Relaxed: if it is we, we stored it. */
	return load_relaxed(&thread->owner) == ways;
}

/* Takes one that is to be had. */
static bool
take_over(struct stock_thread *thread)
{
	const void *none = NULL;

	/* Acquire: pairs with the release in give_up(). */
	while (!cas_acquire_acquire(&thread->owner, &none,
				    (const void *)ways))
		if (none)
			return false;
	return true;
}

static struct stock_thread *
find_thread(struct stock *stock)
{
	struct stock_thread *at = first(stock);

	while (at && !is_ours(at))
		at = at->next;
	if (at)
		return at;
	at = first(stock);
	while (at && !take_over(at))
		at = at->next;
	return at ? at : add_thread(stock);
}

struct stock_thread *
stock_enter_anew(struct stock *stock)
{
	struct stock_way *way = &ways[stock->key % STOCK_WAYS];
	struct stock_thread *thread = find_thread(stock);

	if (!thread)
		return NULL;
	thread->transient = pthread_setspecific(end_key, ways) != 0;
	if (!thread->transient) {
		way->key = stock->key;
		way->thread = thread;
	}
	return thread;
}

void
stock_leave_for_good(struct stock_thread *thread)
{
	give_up(thread);
}

uint64_t
stock_total(const struct stock *stock, enum stock_count which)
{
	uint64_t total = 0;

	for (struct stock_thread *at = first(stock); at; at = at->next)
		/* Relaxed: exact when all is quiet, else late. */
		total += load_relaxed(&at->count[which]);
	return total;
}

/* Nodes, strays and names. */

/* One off the stack, or a new one; null: no memory. */
static void *
take(struct stack *stack, struct registry *registry)
{
	struct node *node = stack_pop(stack, registry);

	if (!node && registry_add(registry, &node))
		return NULL;
	return node;
}

struct warm_node *
stock_node_take(struct stock *stock, struct stock_thread *thread)
{
	struct warm_node *node = thread->at_hand;

	if (unlikely(!node))
		return take(&stock->free_nodes, &stock->nodes);
	thread->at_hand = node->at_hand;
	thread->nodes--;
	return node;
}

void
stock_node_give(struct stock *stock, struct stock_thread *thread,
		struct warm_node *node)
{
	if (unlikely(thread->nodes == AT_HAND)) {
		stock_node_release(stock, node);
		return;
	}
	node->at_hand = thread->at_hand;
	thread->at_hand = node;
	thread->nodes++;
}

void
stock_node_release(struct stock *stock, struct warm_node *node)
{
	stack_push(&stock->free_nodes, &node->node);
}

struct stray *
stock_stray_take(struct stock *stock)
{
	return take(&stock->free_strays, &stock->strays);
}

void
stock_stray_give(struct stock *stock, struct stray *stray)
{
	stack_push(&stock->free_strays, &stray->node);
}

struct name *
stock_name_take(struct stock *stock, size_t length)
{
	uint32_t class = name_class(length);
	struct stack *stack;
	struct name *name;

	if (class >= NAME_CLASSES)
		return NULL;
	stack = &stock->free_names[class];
	name = (struct name *)stack_pop(stack, &stock->names);
	if (name)
		return name;
	/* One without a text of its own has room for a small one. */
	if (registry_add(&stock->names, (struct node **)&name))
		return NULL;
	name->text = name->inline_text;
	if (class) {
		name->text = pages_alloc(name_class_bytes(class));
		if (!name->text) {
			name->text = name->inline_text;
			stack_push(&stock->free_names[0], &name->node);
			return NULL;
		}
	}
	name->size_class = class;
	return name;
}

void
stock_name_give(struct stock *stock, struct name *name)
{
	stack_push(&stock->free_names[name->size_class], &name->node);
}

static void
free_names(struct stock *stock)
{
	for (uint32_t i = 0; i < registry_count(&stock->names); i++) {
		struct name *name = registry_at(&stock->names, i);

		if (name->size_class)
			pages_free(name->text,
				   name_class_bytes(name->size_class));
	}
}

/* The beginning and the end. */

int
stock_init(struct stock *stock, uint32_t cap)
{
	static struct once once;
	static _Atomic(uint64_t) keys;
	int error = lend__init();

	if (!error)
		error = once_try(&once, start);
	if (error)
		return error;
	/* Relaxed: only to be unique. */
	stock->key = fetch_add_relaxed(&keys, 1) + 1;
	stock->cap = cap;
	registry_init(&stock->values, sizeof(struct value_buffer), 0);
	registry_init(&stock->nodes, sizeof(struct warm_node), 0);
	registry_init(&stock->strays, STRAY_BYTES, 0);
	registry_init(&stock->names, NAME_BYTES, 0);
	pthread_mutex_lock(&stocks_lock);
	LIST_INSERT_HEAD(&stocks, stock, link);
	pthread_mutex_unlock(&stocks_lock);
	return 0;
}

void
stock_fini(struct stock *stock)
{
	struct stock_thread *thread;

	pthread_mutex_lock(&stocks_lock);
	LIST_REMOVE(stock, link);
	pthread_mutex_unlock(&stocks_lock);
	thread = first(stock);
	while (thread) {
		struct stock_thread *next = thread->next;

		pages_free(thread, thread->bytes);
		thread = next;
	}
	free_values(stock);
	free_names(stock);
	registry_fini(&stock->values);
	registry_fini(&stock->nodes);
	registry_fini(&stock->strays);
	registry_fini(&stock->names);
}
