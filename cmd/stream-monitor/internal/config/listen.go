package config

import (
	"errors"
	"fmt"
	"syscall"
)

// ExplainListen adds to an error of net.Listen the setting of the address and the remedy.
func ExplainListen(setting, addr string, err error) error {
	advice := "set " + setting + " to another address"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		advice = "another process listens there: stop it, or " + advice
	case errors.Is(err, syscall.EACCES):
		advice = "ports below 1024 need a privilege: " + advice
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		advice = "this machine does not have that address: " + advice
	}
	return fmt.Errorf("cannot listen on %s (%s); %s: %w", addr, setting, advice, err)
}
