//go:build profile

package main

import (
	"net/http"
	_ "net/http/pprof" // serves profiles below /debug/pprof/ of the default mux
	"os"
	"time"
)

// profileVariable names the address at which a build with the tag profile serves the
// profiles of net/http/pprof. test/program/benchdensity sets it.
const profileVariable = "PROFILE_LISTEN_ADDR"

func init() { //nolint:gochecknoinits // only in this build
	addr := os.Getenv(profileVariable)
	if addr == "" {
		return
	}
	server := &http.Server{Addr: addr, ReadHeaderTimeout: 10 * time.Second}
	go func() { panic(server.ListenAndServe()) }()
}
