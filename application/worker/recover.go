package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// errNoOutcome is the outcome of a task whose goroutine ended without one
// (runtime.Goexit).
var errNoOutcome = errors.New("the task's goroutine ended without returning")

// recoverPanic calls do and turns a panic into an error that says what panicked. A
// worker may share its process with other workers and with the gateway. The stack
// goes to the log.
func recoverPanic(log *slog.Logger, what string, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("Panic", "in", what, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: panic: %v", what, p)
		}
	}()
	return do()
}
