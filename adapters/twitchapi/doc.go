// Package twitchapi asks Helix, the API of Twitch, with the credentials of an application (decision S23).
//
//	POST https://id.twitch.tv/oauth2/token          an app access token, by client credentials
//	GET  https://api.twitch.tv/helix/streams?user_login=LOGIN&user_login=LOGIN…
//
// Guarantees:
//
//   - A token is asked for before the first call, again when a tenth of its life is left, and once more after a 401. A
//     refusal of the credentials is not asked for again within TokenRetry.
//   - Without points, after a 429 or an answer that says that none is left, the Client makes no call until the API has some again.
//   - The secret and the token are in headers and in the body of the POST: never in a URL, and in no error. No
//     redirect is followed, because they would be sent along.
//
// The package decides nothing: package domain/officialstate says what a response means.
package twitchapi
