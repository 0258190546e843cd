// Package outboundtest holds the table of hosts with which every package that opens
// connections is tested, a DNS server and an HTTP server. Run is the test.
//
//	Cases ─▶ the host of a callback, a playlist, a segment, a redirect
//	              │
//	              ├─ resolved by DNSRecords, a DNS server on loopback
//	              └─ dialed: LoopbackServer answers on loopback; GuardDials records
//	                 every other address that a policy allows, and refuses the dial
//
// So nothing leaves the machine, even if the policy under test is broken.
package outboundtest
