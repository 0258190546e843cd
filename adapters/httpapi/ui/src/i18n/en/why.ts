// Why there is an incident, with its numbers.
export const why = {
  black: (luma: string, area: string, lasted: string, threshold: string) => `Luma under ${luma} % in ${area} % of the picture for ${lasted}; threshold ${threshold}.`,
  blackPlain: (lasted: string, threshold: string) => `Black picture for ${lasted}; threshold ${threshold}.`,
  silent: (level: string, lasted: string, threshold: string) => `Sound under ${level} dB for ${lasted}; threshold ${threshold}.`,
  silentPlain: (lasted: string, threshold: string) => `Silent for ${lasted}; threshold ${threshold}.`,
  no_media: (lasted: string, threshold: string) => `No new media for ${lasted}; threshold ${threshold}.`,
  late: (planned: string, tolerance: string) => `Planned for ${planned}, not live yet; tolerance ${tolerance}.`,
  latePlain: (planned: string) => `Planned for ${planned}, not live yet.`,
  blind: "Neither the stream's state nor its media can be learned. The stream itself may be fine.",
  error: (reason: string) => `The monitor ended with an error: ${reason}. Nobody watches this stream now.`,
  other: (lasted: string) => `For ${lasted} when the alert was made.`,
  picture: { ok: "Picture good", unknown: "picture not known", bad: "picture bad" },
  sound: { ok: "sound good", unknown: "sound not known", bad: "silent" },
  stream: { live: "YouTube says live", upcoming: "YouTube says upcoming", ended: "YouTube says ended", unknown: "YouTube's state is not known" },
  lastError: (error: string) => `Last error: ${error}`,
};
