// tool-launcher confines itself as a plan says, and executes a tool.
//
//	tool-launcher N PROGRAM NAME ARGUMENT…   the plan is descriptor N; a failure is written to descriptor N+1
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
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Newer than some headers; the same on all architectures.
#define CLOSE_RANGE 436
#define LANDLOCK_CREATE_RULESET 444
#define LANDLOCK_ADD_RULE 445
#define LANDLOCK_RESTRICT_SELF 446
#define RULE_PATH_BENEATH 1

enum {
	STEP_LIMIT = 1,    // struct limit: lowers a limit of this process
	STEP_OOM_SCORE,    // what is written to oom_score_adj; a failure is ignored
	STEP_PRIVILEGES,   // none: sets no_new_privs, and gives up all capabilities
	STEP_RULESET,      // struct landlock_ruleset_attr: makes a set of rules
	STEP_RULE,         // struct rule: adds a rule to the set; a file that cannot be found is left out
	STEP_RESTRICT,     // none: applies the set
	STEP_FILTER,       // struct sock_filter, several: applies them to system calls
};

struct limit {
	uint64_t resource, soft, hard;
};

struct rule {
	uint64_t folder, file; // rights on what is beneath a folder, and on a file that is none
	char path[];           // ends with 0
};

static int ruleset = -1;

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

// Lowers a limit, and never raises it: only root may do that.
static int set_limit(const struct limit *l)
{
	struct rlimit now;
	if (getrlimit(l->resource, &now))
		return -1;
	now.rlim_max = least(now.rlim_max, l->hard);
	now.rlim_cur = least(least(now.rlim_cur, l->soft), now.rlim_max);
	return setrlimit(l->resource, &now);
}

static int set_oom_score(const char *text, size_t size)
{
	int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (file >= 0) {
		if (write(file, text, size) < 0) {
			// memory size decides as usual
		}
		close(file);
	}
	return 0;
}

static int drop_privileges(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[2] = {0}, none[2] = {0};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (syscall(SYS_capget, &header, has) == 0 && memcmp(has, none, sizeof none) == 0)
		return 0; // a sandbox may forbid to set them
	return syscall(SYS_capset, &header, none);
}

static int add_rule(const struct rule *r)
{
	struct {
		uint64_t rights;
		int32_t parent;
	} __attribute__((packed)) beneath = {.parent = open(r->path, O_PATH | O_CLOEXEC)};
	struct stat info;
	if (beneath.parent < 0)
		return 0; // this user cannot reach it either
	int failed = fstat(beneath.parent, &info);
	if (!failed) {
		beneath.rights = S_ISDIR(info.st_mode) ? r->folder : r->file;
		failed = syscall(LANDLOCK_ADD_RULE, ruleset, RULE_PATH_BENEATH, &beneath, 0);
	}
	int error = errno;
	close(beneath.parent);
	errno = error;
	return failed;
}

static int add_filter(void *instructions, size_t size)
{
	struct sock_fprog program = {.len = size / sizeof(struct sock_filter), .filter = instructions};
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int carry_out(uint32_t kind, void *body, size_t size)
{
	switch (kind) {
	case STEP_LIMIT: return set_limit(body);
	case STEP_OOM_SCORE: return set_oom_score(body, size);
	case STEP_PRIVILEGES: return drop_privileges();
	case STEP_RULESET: return (ruleset = syscall(LANDLOCK_CREATE_RULESET, body, size, 0)) < 0 ? -1 : 0;
	case STEP_RULE: return add_rule(body);
	case STEP_RESTRICT: return syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0) || close(ruleset);
	case STEP_FILTER: return add_filter(body, size);
	}
	errno = EINVAL;
	return -1;
}

// Closes all descriptors above one, also where a sandbox does not know close_range(2).
static void close_above(int last)
{
	if (syscall(CLOSE_RANGE, last + 1, ~0U, 0) == 0)
		return;
	DIR *all = opendir("/proc/self/fd");
	for (struct dirent *one; all && (one = readdir(all));) {
		int number = atoi(one->d_name);
		if (number > last && number != dirfd(all))
			close(number);
	}
	if (all)
		closedir(all);
}

static char plan[1 << 20] __attribute__((aligned(8)));

static ssize_t read_plan(int descriptor)
{
	size_t length = 0;
	for (ssize_t n; (n = read(descriptor, plan + length, sizeof plan - length)) != 0; length += n) {
		if (n < 0 && errno != EINTR)
			return -1;
		if (n < 0)
			n = 0;
	}
	return length;
}

int main(int argc, char **argv, char **environment)
{
	static const char version[] = "tool-launcher 1\n";
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return write(1, version, sizeof version - 1) < 0;
	if (argc < 4)
		return 2;
	int descriptor = atoi(argv[1]), answer = descriptor + 1;
	close_above(answer);
	struct {
		uint32_t step;
		int32_t error;
	} failure = {0};
	ssize_t length = read_plan(descriptor);
	close(descriptor);
	if (length < 0 || length == sizeof plan || fcntl(answer, F_SETFD, FD_CLOEXEC))
		return 2;
	for (ssize_t at = 0; at + 8 <= length; failure.step++) {
		uint32_t kind, size;
		memcpy(&kind, plan + at, 4);
		memcpy(&size, plan + at + 4, 4);
		if (carry_out(kind, plan + at + 8, size))
			goto failed;
		at += 8 + size;
	}
	execve(argv[2], argv + 3, environment);
failed:
	failure.error = errno;
	return write(answer, &failure, sizeof failure) < 0 ? 126 : 127;
}
