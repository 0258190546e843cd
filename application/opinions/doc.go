// Package opinions asks somebody else about alerts: a person's program or a model, behind an HTTP endpoint
// (section 19.9). The answer is kept with the incident, and may hold back or drop messages to people.
//
//	report stored ─▶ 2 s ─▶ Store.ClaimQuestions ─▶ pictures, 2 s at most ─▶ Adviser.Ask, 5 s at most ─▶ Store.StoreOpinion
//
// Guarantees:
//
//   - Every alert is asked about at most once, by one gateway: it is claimed before the question is sent. A
//     gateway that ends between the two costs the opinion, which becomes unknown after 10 s.
//   - Nothing waits for this package. What is told to people is decided by domain/notify when a message is leased, by
//     the opinions that are stored then and by time alone.
//   - Nobody is asked later than 10 s after the alert was stored, so no backlog arises.
//
// Failure behaviour: while the database does not answer, nobody is asked; messages go after 10 s.
package opinions
