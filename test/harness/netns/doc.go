// Package netns runs a program in a network namespace of its own, with nothing but a
// loopback interface that has the wanted addresses. So a test can use port 53, port
// 443 and public addresses, for that program alone. It needs Linux and no privilege:
// the namespaces belong to a user namespace.
//
//	test process                              namespaces: user, network, mounts
//	Start ──runs the test binary again──────▶ addresses on lo, files over files,
//	                                          sockets
//	Namespace.Listeners, .Packets ◀─passed─── │
//	                                          └─▶ becomes the program (execve)
//
// A socket belongs to the namespace in which it was created. So the test process can
// serve connections of the program.
//
// The error of Start names the kernel settings that allow user namespaces, where they
// are forbidden.
package netns
