package subprocess

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Filter returns what a filter of system calls answers to a call: by its program, in some steps, and by its rules,
// taken one after another.
func Filter(decodes bool) func(call uint32, arguments [6]uint32) (program, rules uint32, steps int) {
	all, verdict, other := slices.Concat(refusedCalls, internetOnly), refused, uint32(allowed)
	if decodes {
		all, verdict, other = analysingCalls, allowed, unknown
	}
	filter := newFilter(all, verdict, other)
	return func(call uint32, arguments [6]uint32) (program, rules uint32, steps int) {
		program, steps = filter.run(call, arguments)
		holds := func(r callRule) bool {
			return r.call == call && !slices.ContainsFunc(r.tests, func(t argumentTest) bool {
				return slices.Contains(t.values, arguments[t.argument]&t.mask) == t.differs
			})
		}
		switch {
		case call >= firstUnknown || slices.ContainsFunc(hiddenCalls, holds):
			return program, unknown, steps
		case slices.ContainsFunc(all, holds):
			return program, verdict, steps
		}
		return program, other, steps
	}
}

// FilterValues returns the values with which the rules compare arguments.
func FilterValues() (values []uint32) {
	for _, r := range slices.Concat(refusedCalls, internetOnly, analysingCalls) {
		for _, t := range r.tests {
			values = append(values, t.values...)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// run does what the kernel does with a filter.
func (p filterProgram) run(call uint32, arguments [6]uint32) (answer uint32, steps int) {
	data := map[uint32]uint32{callNumber: call, architecture: auditArch}
	for i, a := range arguments {
		data[firstArgument+8*uint32(i)] = a
	}
	var word uint32
	for at := uint32(0); ; at++ {
		steps++
		i := p[at]
		holds := false
		switch i.Code {
		case loadWord:
			word = data[i.K]
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			word &= i.K
			continue
		case jump:
			at += i.K
			continue
		case give:
			return i.K, steps
		case ifEqual:
			holds = word == i.K
		case atLeast:
			holds = word >= i.K
		}
		if holds {
			at += uint32(i.Jt)
		} else {
			at += uint32(i.Jf)
		}
	}
}

// WithLandlock makes the kernel one with an older Landlock until restore.
func WithLandlock(version int) (restore func()) {
	before := kernel
	kernel = func() (kernelMeans, error) {
		means, err := before()
		means.landlock = version
		return means, err
	}
	return func() { kernel = before }
}
