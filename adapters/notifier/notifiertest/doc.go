// Package notifiertest is the conformance suite of the channels of messages: every sender
// passes Run against the fake of its provider.
package notifiertest
