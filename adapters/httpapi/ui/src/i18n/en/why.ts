// Why there is an incident, with its numbers.
export const why = {
  no_media: (lasted: string) => `No new media for ${lasted}.`,
  late: (planned: string) => `Planned for ${planned}, not live yet.`,
  blind: (lasted: string) => `Not seen for ${lasted}: neither the stream's state nor its media can be learned. The stream itself may be fine.`,
  error: (reason: string) => `The monitor ended with an error: ${reason}. Nobody watches this stream now.`,
  other: (condition: string, lasted: string) => `${condition} for ${lasted}.`,
  alert: (after: string, limit: string) => `Alert raised after ${after}${limit && ` (threshold ${limit})`}.`,
  andMeans: (alert: string, means: string) => `${alert} ${means}`,
  tolerance: (tolerance: string) => `Alert raised after a tolerance of ${tolerance}.`,
  now: (state: string) => `Now: ${state}`,
  grows: (severity: string, at: string) => `${severity.charAt(0).toUpperCase()}${severity.slice(1)} from ${at} on, if it lasts.`,
  picture: { ok: "picture good", unknown: "picture not known", bad: "picture bad" },
  sound: { ok: "sound good", unknown: "sound not known", bad: "sound bad" },
  stream: { live: "YouTube says live", upcoming: "YouTube says upcoming", ended: "YouTube says ended", unknown: "YouTube's state is not known" },
  lastError: "Last error: ",
  atAlert: "At the alert: ",
};
