// Package resolver is a name server for tests, on a socket it is given: it
// knows a few addresses, and stops answering when told to.
//
//	program ──UDP──▶ socket ──▶ Server ──▶ address of a host of a known domain
//	                                  └──▶ no such host, server failure, silence ([Mode])
//
// It answers questions for IPv4 addresses (RFC 1035, over UDP alone); of the
// hosts that it knows there is nothing else, and there are no others.
package dns
