// Package compose tests deploy/compose.yaml on a real container engine. One test
// goes from "docker compose up" to "docker compose down". Meanwhile a gateway and a
// worker die during a blackout, the database restarts, and the image is upgraded.
//
//	fakes at the host address of a network ◀── gateway ── postgres    a project of its own
//	       ▲                                      ▲
//	       └────────────── the test ─── REST ─────┘
//
// "make test-compose" runs it on the image that IMAGE names.
package compose
