// Package channels registers channels, and lets the elected gateway find their streams.
//
//	caller ──▶ Service ───▶ Store
//	leader ──▶ Discovery ─▶ Store.ClaimChannels ─▶ BroadcastsAPI, of many places at once: which of them are read
//	                     ├▶ Lister, or the next one ─▶ channel.Read or Fail ─▶ Tasks ─▶ Store.SaveLook
//	                     ├▶ Store.AskedStreams ─▶ Resolver ─▶ Store.SaveStream
//	                     └▶ Store.WantedStreams, those of all channels in the order of their starts ─▶ Registrar ─▶ Store.SaveStream
//
// Package domain/channel decides. Guarantees:
//
//   - A channel is claimed before it is read, so two gateways read none twice. A claim whose gateway dies ends by itself.
//   - Registrations go through the registrar of the API: maximum, duplicates and rules of callbacks are the same. If a
//     gateway dies between a registration and its record, the next run finds the monitor and records it.
//   - A failure of a Lister, the Resolver or the Registrar changes nothing that is known. What was not done is due again.
package channels
