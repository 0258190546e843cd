// Package twitchapi asks Helix, the API of Twitch, with the credentials of an application (decision S23), and reads the socket on which
// Twitch pushes (decision S28).
//
//	POST https://id.twitch.tv/oauth2/token          an app access token, by client credentials
//	GET  https://api.twitch.tv/helix/streams?user_login=LOGIN&user_login=LOGIN…
//	GET  https://api.twitch.tv/helix/users?login=LOGIN&login=LOGIN…
//	     https://api.twitch.tv/helix/eventsub/subscriptions   GET, POST, DELETE
//	     https://api.twitch.tv/helix/eventsub/conduits        GET, POST; /shards: PATCH
//	     wss://eventsub.wss.twitch.tv/ws                      the frames of EventSub
//
// Guarantees:
//
//   - A token is asked for before the first call, again when a tenth of its life is left, and once more after a 401. A
//     refusal of the credentials is not asked for again within TokenRetry.
//   - Without points, after a 429 or an answer that says that none is left, the Client makes no call until the API has some again.
//   - The secret and the token are in headers and in the body of the POST: never in a URL, and in no error. No
//     redirect is followed, because they would be sent along.
//
// The package decides nothing: packages domain/officialstate and domain/eventsub say what a response and a frame mean.
package twitchapi
