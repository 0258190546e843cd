// Package netspace runs a program on a network of its own: a loopback interface
// that has any address wanted, and nothing else. So a test may own port 53,
// port 443 and an address that looks public, for the program alone. It needs
// Linux, and no privilege: the namespaces belong to a user namespace.
//
//	test process                              namespaces: user, network, mounts
//	Start ──runs the test binary again──────▶ addresses on lo, files over files,
//	                                          sockets
//	Space.Listeners, Space.Packets ◀─passed── │
//	                                          └─▶ becomes the program (execve)
//
// A socket belongs to the network it was made on, whoever reads it: the test
// goes on serving from its own process, beside its stand-ins.
//
// Where user namespaces are forbidden, Start says so and what allows them.
package netns
