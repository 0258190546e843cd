package twitchapi

// NewAt makes a Client of other servers than Twitch's: of the API, and of its tokens.
var NewAt = newAt
