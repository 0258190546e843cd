package slack

// Markup is markup.
var Markup = markup
