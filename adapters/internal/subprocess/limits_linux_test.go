package subprocess_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// As in a container whose seccomp profile does not know prlimit.
func TestAToolWhoseLimitsFailGetsNoInput(t *testing.T) {
	runtime.LockOSThread() // and never unlocked: the thread ends with the test
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_PRLIMIT64},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		t.Fatal(err)
	}
	parent := exec.CommandContext(t.Context(), os.Args[0]) // it inherits the filter of this thread
	parent.Env = append(os.Environ(), asHelpless+"=yes")
	said, err := parent.Output()
	if want := "limit what /bin/sh may use: file size: operation not permitted"; err != nil || string(said) != want {
		t.Errorf("said %q, %v, want %q", said, err, want)
	}
}
