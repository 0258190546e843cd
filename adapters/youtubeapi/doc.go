// Package youtubeapi asks two APIs of YouTube, version 3. The Data API tells of videos (decision S23) and the uploads of channels, the
// Live Streaming API of what arrives from encoders (decision S24).
//
//	GET https://www.googleapis.com/youtube/v3/videos?part=snippet,liveStreamingDetails,status&id=ID,ID,…
//	@handle ─▶ GET …/channels?forHandle=@handle ─▶ UC… ─▶ GET …/playlistItems?playlistId=UU… ─▶ ids ─▶ GET …/videos
//	POST https://oauth2.googleapis.com/token
//	GET https://www.googleapis.com/youtube/v3/liveBroadcasts?part=id,status,contentDetails&broadcastStatus=active&…
//	GET https://www.googleapis.com/youtube/v3/liveStreams?part=id,status&id=ID,ID,…
//
// Keys and tokens are in headers and in the body of the POST: never in a URL, and so in no error. No redirect is followed, because they
// would be sent along. A call takes at most 10 s and 1 MiB. The package decides nothing: package domain/officialstate says
// what a response means, package domain/ingest what a signal means.
package youtubeapi
