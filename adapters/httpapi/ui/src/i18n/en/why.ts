// Why there is an incident, with its numbers.
export const why = {
  black: (lasted: string) => `Black for ${lasted}.`,
  silent: (lasted: string) => `Silent for ${lasted}.`,
  no_media: (lasted: string) => `No new media for ${lasted}.`,
  late: (planned: string) => `Planned for ${planned}, not live yet.`,
  blind: (lasted: string) => `Not seen for ${lasted}: neither the stream's state nor its media can be learned. The stream itself may be fine.`,
  error: (reason: string) => `The monitor ended with an error: ${reason}. Nobody watches this stream now.`,
  other: (condition: string, lasted: string) => `${condition} for ${lasted}.`,
  alert: (after: string, limit: string) => `Alert raised after ${after}${limit && ` (limit ${limit})`}.`,
  lumaCriterion: (luma: string, area: string) => ` Black is luma under ${luma} % in ${area} % of the picture.`,
  levelCriterion: (level: string) => ` Silent is under ${level} dB.`,
  tolerance: (tolerance: string) => `Alert raised after a tolerance of ${tolerance}.`,
  now: (state: string) => `Now: ${state}`,
  picture: { ok: "picture good", unknown: "picture not known", bad: "picture bad" },
  sound: { ok: "sound good", unknown: "sound not known", bad: "silent" },
  stream: { live: "YouTube says live", upcoming: "YouTube says upcoming", ended: "YouTube says ended", unknown: "YouTube's state is not known" },
  lastError: (error: string) => `Last error: ${error}`,
};
