/* SPDX-License-Identifier: MIT */
/*
 * Between the target's terminal and who sits at ours. While a UI has the screen, what the target writes is kept in a file of the session
 * and passed to the UI by a socket, as fast as it takes it; the target never waits for it. When the UI has gone all of it comes to
 * the real terminal, and the two are one from then on. A thread of its own.
 */
#ifndef HP_RECORD_TERMINAL_RELAY_H
#define HP_RECORD_TERMINAL_RELAY_H

#include "base/cleanup.h"
#include "target_terminal.h"

#include <stdint.h>

struct error;
struct terminal_relay;

/* terminal stays the caller's and outlives the relay. *ret_socket: the UI's end, non-blocking; the relay closes it. */
int terminal_relay_create(const struct target_terminal *terminal, int session_directory_fd, struct terminal_relay **ret_relay,
                          int *ret_socket, struct error *err);
/* The UI has gone: ours is the target's. */
void terminal_relay_release(struct terminal_relay *relay);
/* The target has ended: what it has written is still taken, and no more waited for. */
void terminal_relay_end(struct terminal_relay *relay);
/* After both: waits until all is printed. Returns how many bytes could not be kept (a full disk). */
uint64_t terminal_relay_destroy(struct terminal_relay *relay);

#endif
