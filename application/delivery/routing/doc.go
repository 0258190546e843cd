// Package routing keeps destinations, routes and silences (section 19) for the API.
// Package notify decides who is told what.
//
//	DestinationService, RouteService, SilenceService   checks by notify, then the Store; tests by a TestSender
//	Explainer                                          where an event or an incident goes, and why
//	ReplayService                                      deliveries that are made again, by a Replayer
//
// Guarantees:
//
//   - A refusal names every wrong field at once, and never has the value of a secret.
//   - A dry run of a destination, and a change of one that changes nothing, store nothing.
//     Routes and silences have no dry run.
//   - A stored secret is sent to no other server: a change of where it is sent needs it again.
//   - While the signing key of a webhook is replaced, the former one signs, too, for
//     KeyRotation.
package routing
