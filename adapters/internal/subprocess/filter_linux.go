package subprocess

import (
	"cmp"
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"
)

// callRule is a rule for a system call. It applies if all of its tests hold.
type callRule struct {
	call    uint32
	tests   []argumentTest
	verdict uint32 // of newFilter
}

// argumentTest compares the lower 32 bits of an argument, because the kernel ignores the others in what
// is tested here.
type argumentTest struct {
	argument    uint32 // its index
	mask, value uint32
	differs     bool // the masked argument must not be the value
}

// always returns rules for calls with any arguments.
func always(calls ...uint32) (rules []callRule) {
	for _, call := range calls {
		rules = append(rules, callRule{call: call})
	}
	return rules
}

// with returns a rule for a call whose argument has a value.
func with(call, argument, value uint32) callRule {
	return callRule{call: call, tests: []argumentTest{{argument, wholeArgument, value, false}}}
}

// withBits returns a rule for a call whose argument has all of these bits.
func withBits(call, argument, bits uint32) callRule {
	return callRule{call: call, tests: []argumentTest{{argument, bits, bits, false}}}
}

// unless returns a rule for a call whose masked argument has none of these values.
func unless(call, argument, mask uint32, values ...uint32) callRule {
	r := callRule{call: call}
	for _, value := range values {
		r.tests = append(r.tests, argumentTest{argument, mask, value, true})
	}
	return r
}

const wholeArgument = ^uint32(0)

// filterProgram is a filter for seccomp(2). It refuses with an error and never kills, so that a new C
// library ends no watch. It is no policy of go-seccomp-bpf, which compares 64 bits: a call passes whose
// upper bits are rubbish. The table of that library lacks file_setattr, too.
type filterProgram []unix.SockFilter

const (
	loadWord = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	ifEqual  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	atLeast  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	jump     = unix.BPF_JMP | unix.BPF_JA
	give     = unix.BPF_RET | unix.BPF_K

	// Offsets in struct seccomp_data.
	callNumber, architecture, firstArgument = 0, 4, 16

	allowed = unix.SECCOMP_RET_ALLOW
	refused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS) // a library tries an older call
)

// newFilter returns a program that gives verdict to the calls of the rules, and other to the rest. The program
// refuses as unknown every call that hides its arguments, is newer than the newest it knows, or is of another ABI.
func newFilter(rules []callRule, verdict, other uint32) filterProgram {
	p := filterProgram{
		{Code: loadWord, K: architecture},
		{Code: ifEqual, K: auditArch, Jt: 1},
		{Code: give, K: unknown},
		{Code: loadWord, K: callNumber},
		{Code: atLeast, K: firstUnknown, Jf: 1},
		{Code: give, K: unknown},
	}
	all := slices.Concat(hiddenCalls, rules)
	for i := range all {
		all[i].verdict = verdict
		if i < len(hiddenCalls) {
			all[i].verdict = unknown
		}
	}
	slices.SortStableFunc(all, func(a, b callRule) int { return cmp.Compare(a.call, b.call) })
	return append(p, search(all, other)...)
}

// search returns a binary search for the rules of a call; they are sorted. When a tool starts, the kernel tries the program
// with each of its 470 calls: a list would cost it a fifth of a millisecond.
func search(rules []callRule, other uint32) (p filterProgram) {
	const few = 4
	middle := len(rules) / 2
	for middle > 0 && rules[middle].call == rules[middle-1].call {
		middle--
	}
	if len(rules) > few && middle > 0 {
		left := search(rules[:middle], other)
		p = filterProgram{{Code: atLeast, K: rules[middle].call, Jf: 1}, {Code: jump, K: uint32(len(left))}} //nolint:gosec // some hundred
		return slices.Concat(p, left, search(rules[middle:], other))
	}
	for _, r := range rules {
		p = append(p, r.compile()...)
	}
	return append(p, unix.SockFilter{Code: give, K: other})
}

// compile returns the instructions of a rule. The number of the call is loaded before and after them.
func (r callRule) compile() filterProgram {
	const perTest = 3
	length := uint8(1 + perTest*len(r.tests)) //nolint:gosec // some tests
	if len(r.tests) > 0 {
		length++
	}
	p := filterProgram{{Code: ifEqual, K: r.call, Jf: length}}
	for i, t := range r.tests {
		failed := uint8(perTest*(len(r.tests)-i-1) + 1) //nolint:gosec // as above: over the rest, and the verdict
		compare := unix.SockFilter{Code: ifEqual, K: t.value, Jf: failed}
		if t.differs {
			compare.Jt, compare.Jf = failed, 0
		}
		p = append(p,
			unix.SockFilter{Code: loadWord, K: firstArgument + 8*t.argument}, // little-endian: the lower half
			unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: t.mask},
			compare)
	}
	p = append(p, unix.SockFilter{Code: give, K: r.verdict})
	if len(r.tests) > 0 {
		p = append(p, unix.SockFilter{Code: loadWord, K: callNumber})
	}
	return p
}

// encode returns the program as the kernel reads it.
func (p filterProgram) encode() (body []byte) {
	for _, i := range p {
		body = binary.NativeEndian.AppendUint16(body, i.Code)
		body = append(body, i.Jt, i.Jf)
		body = binary.NativeEndian.AppendUint32(body, i.K)
	}
	return body
}

// filter returns what limits the system calls of a tool. Programs are not refused by it, since the launch
// itself executes one (see Confinement.reachable).
func (c *Confinement) filter(means kernelMeans, path string) []step {
	if !means.seccomp {
		return nil
	}
	var program filterProgram
	switch {
	case c.Network:
		program = newFilter(slices.Concat(refusedCalls, internetOnly), refused, allowed)
	case IsScript(path):
		program = newFilter(slices.Concat(refusedCalls, noSockets), refused, allowed)
	default:
		program = newFilter(analysingCalls, allowed, unknown)
	}
	return []step{{stepFilter, "seccomp", program.encode()}}
}
