/* SPDX-License-Identifier: MIT */
/* One loop over the target's terminal, the UI's socket and our own terminal. */
#include "terminal_relay.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "terminal_questions.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>

#define LINGER_NS 1000000000
#define LOOK_BYTES (256 << 10)     /* of output, between two looks at the disk */
#define RESERVE_BYTES (64u << 20)  /* for the recording, of a small disk less */
enum { PIECE_BYTES = 65536, INPUT_BYTES = 4096, QUIET_MS = 200 };

struct input { /* typed, on its way to the target */
    char bytes[INPUT_BYTES];
    size_t begin, end;
};

struct terminal_relay {
    const struct target_terminal *terminal;
    pthread_t thread;
    int wake;             /* an eventfd: one of the two below has changed */
    bool released, ended; /* atomic */
    int log;              /* all that came, until a write failed */
    bool log_failed;
    uint64_t logged, sent, lost, looked; /* looked: as logged was at the last look at the disk */
    int64_t ended_ns;     /* when we learned of it */
    int ui, ui_other;     /* our end of the socket; the UI's */
    int size_changes;     /* signalfd of SIGWINCH, which every other thread blocks by then */
    bool over;            /* nothing more comes from the target */
    bool direct;          /* our terminal is the target's */
    bool input_over;      /* nobody types any more */
    struct input input;
    char piece[PIECE_BYTES];
};

static bool flag(const bool *value)
{
    return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

/* --- from the target --------------------------------------------------------------------------------------------- */

/* Of what is kept, what the UI takes now. */
static void feed_ui(struct terminal_relay *relay)
{
    char bytes[PIECE_BYTES / 4];
    while (relay->ui >= 0 && relay->sent < relay->logged) {
        uint64_t left = relay->logged - relay->sent;
        size_t size = left < sizeof bytes ? (size_t)left : sizeof bytes;
        if (pread_all(relay->log, bytes, size, relay->sent) < 0)
            return;
        ssize_t sent = send(relay->ui, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        relay->sent += (uint64_t)sent;
    }
}

/* What is recorded goes to the same disk, and without it there is no trace: output that is not kept is the lesser loss. */
static bool has_room(struct terminal_relay *relay)
{
    struct statvfs disk;
    if (relay->logged < relay->looked + LOOK_BYTES || fstatvfs(relay->log, &disk) < 0)
        return true;
    relay->looked = relay->logged;
    uint64_t reserve = (uint64_t)disk.f_blocks * disk.f_frsize / 16;
    return (uint64_t)disk.f_bavail * disk.f_frsize >= (reserve < RESERVE_BYTES ? reserve : RESERVE_BYTES);
}

static void take_output(struct terminal_relay *relay, const char *bytes, size_t size)
{
    if (relay->direct) {
        write_all(STDOUT_FILENO, bytes, size); /* a terminal that has gone: the target's hangs up by its own signal */
        return;
    }
    if (!relay->log_failed && has_room(relay) && write_all(relay->log, bytes, size) == 0) {
        relay->logged += size;
        feed_ui(relay);
        return;
    }
    relay->log_failed = true;
    relay->lost += size;
    if (relay->ui >= 0 && relay->sent == relay->logged && send(relay->ui, bytes, size, MSG_NOSIGNAL) < 0)
        return; /* a UI that is slow, too, misses it */
}

static void read_output(struct terminal_relay *relay)
{
    ssize_t got = read(relay->terminal->master, relay->piece, sizeof relay->piece);
    if (got > 0)
        take_output(relay, relay->piece, (size_t)got);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        relay->over = true; /* EIO: nobody has it open */
}

/* --- to the target ----------------------------------------------------------------------------------------------- */

static void read_input(struct terminal_relay *relay, int from)
{
    struct input *input = &relay->input;
    ssize_t got = read(from, input->bytes, sizeof input->bytes);
    input->begin = 0;
    input->end = got > 0 ? (size_t)got : 0;
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        relay->input_over = true;
}

static void write_input(struct terminal_relay *relay)
{
    struct input *input = &relay->input;
    ssize_t written = write(relay->terminal->master, input->bytes + input->begin, input->end - input->begin);
    if (written > 0)
        input->begin += (size_t)written;
    else if (written < 0 && errno != EAGAIN && errno != EINTR)
        input->begin = input->end;
}

/* --- our terminal ------------------------------------------------------------------------------------------------ */

/* Each byte goes through as it is: the target's terminal does with it what it is set to. */
static void set_raw(const struct target_terminal *terminal)
{
    struct termios raw = terminal->settings;
    cfmakeraw(&raw);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

/* Nothing in it may have our terminal type answers: who asked has them, or has stopped waiting. */
static void print_kept(struct terminal_relay *relay)
{
    struct terminal_questions questions = {0};
    char plain[PIECE_BYTES / 4 + TERMINAL_QUESTION_MAX];
    for (uint64_t at = 0; at < relay->logged;) {
        uint64_t left = relay->logged - at;
        size_t size = left < PIECE_BYTES / 4 ? (size_t)left : PIECE_BYTES / 4;
        if (pread_all(relay->log, relay->piece, size, at) < 0)
            break;
        if (write_all(STDOUT_FILENO, plain, terminal_questions_remove(&questions, relay->piece, size, plain)) < 0)
            return;
        at += size;
    }
    write_all(STDOUT_FILENO, plain, terminal_questions_rest(&questions, plain));
}

static void become_direct(struct terminal_relay *relay)
{
    sigset_t size_change;
    sigemptyset(&size_change);
    sigaddset(&size_change, SIGWINCH);
    close(relay->ui);
    relay->ui = -1;
    relay->direct = true;
    relay->input_over = false;
    set_raw(relay->terminal);
    print_kept(relay);
    target_terminal_follow_size(relay->terminal);
    relay->size_changes = signalfd(-1, &size_change, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void follow_size(struct terminal_relay *relay)
{
    struct signalfd_siginfo info;
    while (read(relay->size_changes, &info, sizeof info) > 0)
        ;
    target_terminal_follow_size(relay->terminal);
}

/* --- the loop ---------------------------------------------------------------------------------------------------- */

enum { WAKE, OUTPUT, INPUT, SIZE, WAITS };

static void fill_waits(const struct terminal_relay *relay, struct pollfd *waits)
{
    bool typed = relay->input.begin < relay->input.end;
    int from = relay->direct ? STDIN_FILENO : relay->ui;
    waits[WAKE] = (struct pollfd){.fd = relay->wake, .events = POLLIN};
    waits[OUTPUT] = (struct pollfd){.fd = relay->over ? -1 : relay->terminal->master, .events = (short)(POLLIN | (typed ? POLLOUT : 0))};
    waits[INPUT] = (struct pollfd){.fd = from, .events = typed || relay->input_over ? 0 : POLLIN};
    if (!relay->direct && relay->sent < relay->logged)
        waits[INPUT].events |= POLLOUT;
    if (!waits[INPUT].events)
        waits[INPUT].fd = -1;
    waits[SIZE] = (struct pollfd){.fd = relay->direct ? relay->size_changes : -1, .events = POLLIN};
}

static void handle(struct terminal_relay *relay, const struct pollfd *waits)
{
    if (waits[OUTPUT].revents & POLLOUT)
        write_input(relay);
    if (waits[OUTPUT].revents & (POLLIN | POLLHUP | POLLERR))
        read_output(relay);
    if (waits[INPUT].revents & (POLLIN | POLLHUP | POLLERR) && relay->input.begin == relay->input.end)
        read_input(relay, waits[INPUT].fd);
    if (waits[INPUT].revents & POLLOUT)
        feed_ui(relay);
    if (waits[SIZE].revents)
        follow_size(relay);
}

/* The UI learns that nothing more comes once it has all. */
static void tell_end(struct terminal_relay *relay)
{
    if (relay->over && relay->ui >= 0 && relay->sent == relay->logged)
        shutdown(relay->ui, SHUT_WR);
}

/* Somebody whom the target started may still have its terminal open: he is not waited for, the keeper looks after him. */
static bool is_over(struct terminal_relay *relay, int ready)
{
    if (!flag(&relay->ended))
        return false;
    int64_t now_ns = clock_monotonic_ns();
    if (!relay->ended_ns)
        relay->ended_ns = now_ns;
    return ready == 0 || now_ns - relay->ended_ns > LINGER_NS;
}

/* A file that may grow no more and a terminal that is no longer ours are errors of a call here, not the end of us. */
static void block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    sigaddset(&set, SIGTTOU);
    sigaddset(&set, SIGTTIN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void *relay_run(void *object)
{
    struct terminal_relay *relay = object;
    struct pollfd waits[WAITS];
    uint64_t count;
    block_signals();
    while (!(relay->over && relay->direct)) {
        bool ending = flag(&relay->ended) && !relay->over;
        fill_waits(relay, waits);
        int ready = poll(waits, WAITS, ending ? QUIET_MS : -1);
        if (ready < 0 && errno != EINTR)
            break;
        if (ready > 0)
            handle(relay, waits);
        relay->over = relay->over || is_over(relay, ready);
        if (ready > 0 && waits[WAKE].revents && read(relay->wake, &count, sizeof count) < 0)
            break;
        tell_end(relay);
        if (flag(&relay->released) && !relay->direct)
            become_direct(relay);
    }
    tcsetattr(STDIN_FILENO, TCSADRAIN, &relay->terminal->settings);
    return NULL;
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static void relay_free(struct terminal_relay *relay)
{
    closep(&relay->log);
    closep(&relay->ui);
    closep(&relay->ui_other);
    closep(&relay->wake);
    closep(&relay->size_changes);
    free(relay);
}

static int relay_open(struct terminal_relay *relay, int session_directory_fd)
{
    int ends[2];
    relay->log = openat(session_directory_fd, "terminal", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    relay->log_failed = relay->log < 0;
    relay->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (relay->wake < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return -errno;
    relay->ui = ends[0];
    relay->ui_other = ends[1];
    return 0;
}

int terminal_relay_create(const struct target_terminal *terminal, int session_directory_fd, struct terminal_relay **ret_relay,
                          int *ret_socket, struct error *err)
{
    struct terminal_relay *relay = calloc(1, sizeof *relay);
    if (!relay)
        return error_set(err, -ENOMEM, "out of memory");
    relay->terminal = terminal;
    relay->log = relay->wake = relay->ui = relay->ui_other = relay->size_changes = -1;
    int code = relay_open(relay, session_directory_fd);
    if (code == 0)
        code = -pthread_create(&relay->thread, NULL, relay_run, relay);
    if (code) {
        relay_free(relay);
        return error_set_errno(err, code, "cannot pass on the program's output");
    }
    *ret_relay = relay;
    *ret_socket = relay->ui_other;
    return 0;
}

static void change(struct terminal_relay *relay, bool *value)
{
    uint64_t one = 1;
    __atomic_store_n(value, true, __ATOMIC_RELEASE);
    while (write(relay->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

void terminal_relay_release(struct terminal_relay *relay)
{
    change(relay, &relay->released);
}

void terminal_relay_end(struct terminal_relay *relay)
{
    change(relay, &relay->ended);
}

uint64_t terminal_relay_destroy(struct terminal_relay *relay)
{
    if (!relay)
        return 0;
    pthread_join(relay->thread, NULL);
    uint64_t lost = relay->lost;
    relay_free(relay);
    return lost;
}
