//go:build !faults

package faultinject

// Wrap returns the ports unchanged. The build with the tag faults crashes at chosen
// points and steps the clock.
func Wrap(p Ports) Ports { return p }

// Environ returns no variables.
func Environ() []string { return nil }
