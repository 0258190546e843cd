// Package dashboard tests the dashboard in a real browser.
//
//	go test ── builds the pages and the binary, starts what they need
//	   ├── npm test              parts without a browser
//	   ├── test/pages/*.test.mjs Chromium and a gateway made of memory
//	   └── test/real/*.test.mjs  Chromium and the real gateway, database, workers and tools
//
// The scripts are in adapters/httpapi/ui. Those in test/real ask a control server of
// this package for what a browser cannot do: streams that go black, a gateway that
// hangs or restarts. Node.js, npm and Chromium are required; "make test" installs them.
package dashboard
