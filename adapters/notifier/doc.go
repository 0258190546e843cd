// Package notifier holds what the senders of messages to people share. Each channel has a
// package below it, which implements message.Sender.
//
//	message.Message ──▶ slack, discord, … ──▶ Client ──▶ outbound.Guard ──▶ provider
//	                    escape, cut, layout   HTTP       at every dial
//
// Guarantees:
//
//   - A Send takes at most delivery.SendTimeout, whatever number of requests it makes.
//   - A Result contains no secret of its destination, even if the provider repeats one.
//   - A message that is too long is cut between two characters. A picture that the provider
//     does not accept is left out.
//   - What strangers have written appears as they wrote it. It formats nothing, links to
//     nothing and mentions nobody.
package notifier
