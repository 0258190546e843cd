package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// errVanished is what a lane brings back whose goroutine ended without a word
// (runtime.Goexit).
var errVanished = errors.New("the task's goroutine ended without returning")

// contained does something and turns a panic of it into an error that names it:
// a worker may share its process with others and with the gateway. The stack,
// which no error can hold, goes to the log.
func contained(log *slog.Logger, what string, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("Panic", "in", what, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: panic: %v", what, p)
		}
	}()
	return do()
}
