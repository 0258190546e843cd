// tool-launcher confines itself as a plan says, and executes a tool.
//
//	tool-launcher N PROGRAM NAME ARGUMENT…   the plan is descriptor N; a failure is written to descriptor N+1;
//	                                         rules of Landlock, if any, are descriptor N+2
//	tool-launcher --version
//
// The tool gets the descriptors below N, the environment of this program, NAME as its argument 0, and the
// arguments. All other descriptors are closed. The plan is a sequence of steps, in the byte order of the machine:
//
//	u32 kind, u32 size, and as many bytes
//
// They are carried out in their order. If one fails, the answer is { u32 number of the step, i32 errno }; the
// number of steps stands for the execution of the tool. No answer means that the tool was executed. What is to be
// allowed is decided by the program that writes the plan.
//
// No C library is linked: before main, it would ask the processor for its features, and each answer (CPUID) costs a
// virtual machine 20 to 70 microseconds.
#include <asm/unistd.h>
#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

// Newer than some headers; the same on all architectures.
#define CLOSE_RANGE 436
#define LANDLOCK_RESTRICT_SELF 446

enum {
	STEP_LIMIT = 1,    // struct limit: lowers a limit of this process
	STEP_OOM_SCORE,    // what is written to oom_score_adj; a failure is ignored
	STEP_PRIVILEGES,   // none: sets no_new_privs, and gives up all capabilities
	STEP_RESTRICT,     // none: enters a domain of its own, with the rules of Landlock
	STEP_FILTER,       // struct sock_filter, several: applies them to system calls
};

struct limit {
	uint64_t resource, soft, hard;
};

// Asks the kernel. The answer is the negative error if it refuses.
static long ask(long call, long a, long b, long c, long d, long e)
{
#if defined __x86_64__
	register long fourth __asm__("r10") = d, fifth __asm__("r8") = e;
	__asm__ volatile("syscall" : "+a"(call) : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth) : "rcx", "r11", "memory");
	return call;
#elif defined __aarch64__
	register long number __asm__("x8") = call, answer __asm__("x0") = a, second __asm__("x1") = b, third __asm__("x2") = c,
		fourth __asm__("x3") = d, fifth __asm__("x4") = e;
	__asm__ volatile("svc 0" : "+r"(answer) : "r"(number), "r"(second), "r"(third), "r"(fourth), "r"(fifth) : "memory");
	return answer;
#else
#error "the system calls of this architecture are not known here"
#endif
}

#define ASK(call, a, b, c, d, e) ask(call, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))

static long open_file(const char *path, int flags) { return ASK(__NR_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0, 0); }

static long close_file(long file) { return ASK(__NR_close, file, 0, 0, 0, 0); }

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

// Lowers a limit, and never raises it: only root may do that.
static long set_limit(const struct limit *l)
{
	struct {
		uint64_t soft, hard;
	} now;
	long failed = ASK(__NR_prlimit64, 0, l->resource, 0, &now, 0);
	if (failed)
		return failed;
	now.hard = least(now.hard, l->hard);
	now.soft = least(least(now.soft, l->soft), now.hard);
	return ASK(__NR_prlimit64, 0, l->resource, &now, 0, 0);
}

static long set_oom_score(const char *text, size_t size)
{
	long file = open_file("/proc/self/oom_score_adj", O_WRONLY);
	ASK(__NR_write, file, text, size, 0, 0); // if it fails, memory size decides as usual
	close_file(file);
	return 0;
}

static long drop_privileges(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[2] = {0}, none[2] = {0};
	long failed = ASK(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (failed)
		return failed;
	if (ASK(__NR_capget, &header, has, 0, 0, 0) == 0 && !(has[0].effective | has[0].permitted | has[0].inheritable |
			has[1].effective | has[1].permitted | has[1].inheritable))
		return 0; // a sandbox may forbid to set them
	return ASK(__NR_capset, &header, none, 0, 0, 0);
}

static long add_filter(void *instructions, size_t size)
{
	struct sock_fprog program = {.len = size / sizeof(struct sock_filter), .filter = instructions};
	return ASK(__NR_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static long carry_out(uint32_t kind, void *body, size_t size, long ruleset)
{
	switch (kind) {
	case STEP_LIMIT: return set_limit(body);
	case STEP_OOM_SCORE: return set_oom_score(body, size);
	case STEP_PRIVILEGES: return drop_privileges();
	case STEP_RESTRICT: return ASK(LANDLOCK_RESTRICT_SELF, ruleset, 0, 0, 0, 0);
	case STEP_FILTER: return add_filter(body, size);
	}
	return -EINVAL;
}

static long number(const char *text)
{
	long n = 0;
	for (; *text >= '0' && *text <= '9'; text++)
		n = 10 * n + *text - '0';
	return n;
}

// Closes all descriptors above one, also where a sandbox does not know close_range(2).
static void close_above(long last)
{
	if (ASK(CLOSE_RANGE, last + 1, ~0U, 0, 0, 0) == 0)
		return;
	static char entries[4096] __attribute__((aligned(8))); // struct linux_dirent64: the length is at 16, the name at 19
	long folder = open_file("/proc/self/fd", O_RDONLY | O_DIRECTORY);
	for (long size; (size = ASK(__NR_getdents64, folder, entries, sizeof entries, 0, 0)) > 0;)
		for (long at = 0; at < size; at += *(uint16_t *)(entries + at + 16)) {
			long file = number(entries + at + 19);
			if (file > last && file != folder)
				close_file(file);
		}
	close_file(folder);
}

static char plan[1 << 13] __attribute__((aligned(8)));

static long read_plan(long descriptor)
{
	size_t length = 0;
	for (long n; (n = ASK(__NR_read, descriptor, plan + length, sizeof plan - length, 0, 0)) != 0;) {
		if (n < 0 && n != -EINTR)
			return n;
		length += n < 0 ? 0 : n;
	}
	return length;
}

static int same(const char *a, const char *b)
{
	for (; *a && *a == *b; a++)
		b++;
	return *a == *b;
}

static int run(long argc, char **argv, char **environment)
{
	static const char version[] = "tool-launcher 2\n";
	if (argc == 2 && same(argv[1], "--version"))
		return ASK(__NR_write, 1, version, sizeof version - 1, 0, 0) < 0;
	if (argc < 4)
		return 2;
	long descriptor = number(argv[1]), answer = descriptor + 1, ruleset = answer + 1;
	close_above(ruleset);
	long length = read_plan(descriptor);
	close_file(descriptor);
	if (length < 0 || length == sizeof plan || ASK(__NR_fcntl, answer, F_SETFD, FD_CLOEXEC, 0, 0))
		return 2;
	ASK(__NR_fcntl, ruleset, F_SETFD, FD_CLOEXEC, 0, 0); // if there is one: a tool could add rules to it
	struct {
		uint32_t step;
		int32_t error;
	} failure = {0};
	long failed = 0;
	for (long at = 0; !failed && at + 8 <= length;) {
		const uint32_t *head = (void *)(plan + at);
		failed = carry_out(head[0], plan + at + 8, head[1], ruleset);
		failure.step += !failed;
		at += 8 + head[1];
	}
	failure.error = -(failed ? failed : ASK(__NR_execve, argv[2], argv + 3, environment, 0, 0));
	return ASK(__NR_write, answer, &failure, sizeof failure, 0, 0) < 0 ? 126 : 127;
}

// Begins with the stack as the kernel leaves it: the number of arguments, the arguments, 0, the environment, 0.
__attribute__((used, noreturn)) static void begin(long *stack)
{
	char **argv = (char **)(stack + 1);
	for (long status = run(*stack, argv, argv + *stack + 1);;)
		ASK(__NR_exit_group, status, 0, 0, 0, 0);
}

#if defined __x86_64__
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin");
#else
__asm__(".globl _start\n_start: mov x0, sp\n bl begin");
#endif
