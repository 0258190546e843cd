// Package dns is a fake name server for tests. It answers for a few hosts, and
// stops answering or answers with an error when a test sets another [Mode].
//
//	program ──UDP──▶ socket ──▶ Server ──▶ address of a host of a known domain
//	                                  └──▶ NXDOMAIN, SERVFAIL or no answer ([Mode])
//
// It answers over UDP only (RFC 1035) and serves IPv4 addresses only. A question of
// another type gets no records. Every other host does not exist.
package dns
