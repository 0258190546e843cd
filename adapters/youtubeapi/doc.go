// Package youtubeapi asks the YouTube Data API (version 3) about videos (decision S23), and about the uploads of channels.
//
//	GET https://www.googleapis.com/youtube/v3/videos?part=snippet,liveStreamingDetails,status&id=ID,ID,…
//	@handle ─▶ GET …/channels?forHandle=@handle ─▶ UC… ─▶ GET …/playlistItems?playlistId=UU… ─▶ ids ─▶ GET …/videos
//
// The key is in the header X-Goog-Api-Key: never in a URL, and so in no error. No redirect is followed, because the header
// would be sent along. A call takes at most 10 s and 1 MiB. The package decides nothing: package domain/officialstate says
// what a response means.
package youtubeapi
