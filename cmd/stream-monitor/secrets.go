package main

import (
	"os"

	"github.com/alecthomas/kong"
)

// forgetSecrets takes what the chosen command has read and what is secret out of
// the environment: the tools it calls run what others wrote, and inherit what is
// there. A proxy's password they need, and get it back (WatchingFlags.export).
func forgetSecrets(chosen *kong.Context) {
	for _, flag := range chosen.Flags() {
		if !flag.Tag.Has("secret") {
			continue
		}
		for _, name := range flag.Envs {
			_ = os.Unsetenv(name) // fails only on names that cannot be in an environment
		}
	}
}
