// Package channel holds what the fakes of message providers have in common: one server, the messages
// as people see them, and faults.
//
//	request ──▶ Fault ──▶ the fake's checks ──▶ Message, or the provider's own error
//
// The fakes implement what the providers document and what is known of their behaviour. They
// use no code of the product, so they do not repeat a mistake of the senders. They reject what
// the provider rejects, with its status and its error.
package channel
