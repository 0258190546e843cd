//go:build amd64 || arm64

package subprocess

import (
	"slices"

	"golang.org/x/sys/unix"
)

// firstUnknown is the first system call that is newer than this list. A later kernel may change files or
// processes by it, in a way that is refused here by name.
const firstUnknown = unix.SYS_RSEQ_SLICE_YIELD + 1

// Arguments that golang.org/x/sys/unix has no name for.
const (
	ioSetOwner      = 0x8901     // FIOSETOWN
	ioSetFileFlags  = 0x401c5820 // FS_IOC_FSSETXATTR
	ioPrioOfProcess = 1          // IOPRIO_WHO_PROCESS
	socketType      = 0xf        // SOCK_TYPE_MASK
	nameMapping     = 0x53564d41 // PR_SET_VMA
)

// refusedCalls are what Landlock does not prevent, and no tool needs: they change files by their name, or
// other processes of the user; they make memory that no limit counts; they listen; they are rarely used parts of
// the kernel.
var refusedCalls = slices.Concat(
	oldRefusedCalls,
	always( // mode, owner, times and attributes of files; their length, which Landlock guards since Linux 6.2
		unix.SYS_TRUNCATE, unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT, unix.SYS_FILE_SETATTR,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT),
	always( // other processes
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP,
		unix.SYS_PIDFD_GETFD, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES, unix.SYS_PERF_EVENT_OPEN),
	always( // System V IPC and message queues outlive a tool, and are shared by a user
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SHMDT, unix.SYS_SEMGET, unix.SYS_SEMCTL, unix.SYS_SEMOP,
		unix.SYS_SEMTIMEDOP, unix.SYS_MSGGET, unix.SYS_MSGCTL, unix.SYS_MSGSND, unix.SYS_MSGRCV,
		unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK),
	always(unix.SYS_LISTEN, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY),
	always(unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_BPF, unix.SYS_USERFAULTFD,
		unix.SYS_UNSHARE, unix.SYS_SETNS),
	[]callRule{
		unless(unix.SYS_PRLIMIT64, 0, wholeArgument, 0),
		unless(unix.SYS_SETPRIORITY, 0, wholeArgument, unix.PRIO_PROCESS),
		unless(unix.SYS_SETPRIORITY, 1, wholeArgument, 0),
		unless(unix.SYS_IOPRIO_SET, 0, wholeArgument, ioPrioOfProcess),
		unless(unix.SYS_IOPRIO_SET, 1, wholeArgument, 0),
		unless(unix.SYS_SCHED_SETAFFINITY, 0, wholeArgument, 0),
		unless(unix.SYS_SCHED_SETPARAM, 0, wholeArgument, 0),
		unless(unix.SYS_SCHED_SETSCHEDULER, 0, wholeArgument, 0),
		unless(unix.SYS_SCHED_SETATTR, 0, wholeArgument, 0),
		with(unix.SYS_FCNTL, 1, wholeArgument, unix.F_SETOWN, unix.F_SETOWN_EX, unix.F_SETSIG),
		with(unix.SYS_IOCTL, 1, wholeArgument, ioSetOwner, unix.SIOCSPGRP, unix.TIOCSTI, unix.FS_IOC_SETFLAGS, ioSetFileFlags),
		withBits(unix.SYS_CLONE, 0, unix.CLONE_NEWUSER),
		withBits(unix.SYS_MMAP, 3, unix.MAP_GROWSDOWN), // counts as a stack, which RLIMIT_DATA leaves out
	})

// internetOnly refuses sockets but those of TCP and UDP. Landlock's rules for TCP leave out MPTCP, which would listen;
// sockets of the machine itself would reach servers such as a private PostgreSQL.
var internetOnly = []callRule{
	unless(unix.SYS_SOCKET, 0, wholeArgument, unix.AF_INET, unix.AF_INET6),
	unless(unix.SYS_SOCKET, 1, socketType, unix.SOCK_STREAM, unix.SOCK_DGRAM),
	unless(unix.SYS_SOCKET, 2, wholeArgument, unix.IPPROTO_IP, unix.IPPROTO_TCP, unix.IPPROTO_UDP),
}

// noSockets refuses all sockets.
var noSockets = always(unix.SYS_SOCKET)

// hiddenCalls hide their arguments from a filter. The C library has an older call for each.
var hiddenCalls = always(unix.SYS_CLONE3)

// analysingCalls are the calls that ffmpeg and segment-decoder need to decode and encode between pipes, with
// threads. FFmpeg's builds of Debian and of the image use them; a C library or a runtime may use some in their
// place. None makes memory that RLIMIT_DATA does not count, or a process.
var analysingCalls = slices.Concat(
	always(
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_FUTEX, unix.SYS_CLOCK_GETTIME, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_BRK,
		unix.SYS_LSEEK, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PREADV, unix.SYS_CLOSE, unix.SYS_OPENAT, unix.SYS_FSTAT, fstatat),
	[]callRule{
		with(unix.SYS_MMAP, 3, unix.MAP_SHARED|unix.MAP_GROWSDOWN, 0),
		withBits(unix.SYS_CLONE, 0, unix.CLONE_THREAD),
		with(unix.SYS_PRLIMIT64, 0, wholeArgument, 0),
		unless(unix.SYS_FCNTL, 1, wholeArgument, unix.F_SETOWN, unix.F_SETOWN_EX, unix.F_SETSIG),
		with(unix.SYS_IOCTL, 1, wholeArgument, unix.TCGETS, unix.TIOCGWINSZ, unix.TIOCINQ),
		with(unix.SYS_PRCTL, 0, wholeArgument, unix.PR_SET_NAME, unix.PR_GET_NAME, nameMapping),
		with(unix.SYS_SCHED_SETAFFINITY, 0, wholeArgument, 0),
	},
	always(
		unix.SYS_EXECVE, // of the tool itself; Landlock allows no other program
		unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_RESTART_SYSCALL, unix.SYS_SET_TID_ADDRESS, unix.SYS_SET_ROBUST_LIST, unix.SYS_GET_ROBUST_LIST,
		unix.SYS_RSEQ, unix.SYS_MEMBARRIER, unix.SYS_FUTEX_WAITV, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SCHED_GETPARAM,
		unix.SYS_SCHED_GETSCHEDULER, unix.SYS_SCHED_GET_PRIORITY_MAX, unix.SYS_SCHED_GET_PRIORITY_MIN, unix.SYS_GETCPU, unix.SYS_GET_MEMPOLICY,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RT_SIGPENDING, unix.SYS_RT_SIGTIMEDWAIT,
		unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY, unix.SYS_TIMES, unix.SYS_GETRUSAGE, unix.SYS_GETRLIMIT,
		unix.SYS_GETPID, unix.SYS_GETPPID, unix.SYS_GETTID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID, unix.SYS_GETGROUPS,
		unix.SYS_GETPGID, unix.SYS_GETSID, unix.SYS_UNAME, unix.SYS_SYSINFO, unix.SYS_GETRANDOM, unix.SYS_UMASK, unix.SYS_GETCWD, unix.SYS_CHDIR,
		unix.SYS_STATX, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_READLINKAT, unix.SYS_GETDENTS64, unix.SYS_STATFS, unix.SYS_FSTATFS,
		unix.SYS_FADVISE64, unix.SYS_MINCORE, unix.SYS_MLOCK, unix.SYS_MUNLOCK, unix.SYS_SET_MEMPOLICY, unix.SYS_DUP, unix.SYS_DUP3, unix.SYS_PPOLL, unix.SYS_PSELECT6,
		unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2),
	oldAnalysingCalls)
