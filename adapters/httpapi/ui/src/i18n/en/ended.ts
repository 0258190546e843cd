export const ended = {
  title: "Ended streams",
  day: "Day",
  outcome: "Outcome",
  outcomes: { all: "any", completed: "ended by itself", stopped: "stopped", error: "given up" },
  channel: "Channel",
  anyChannel: "any",
  search: "Name or address",
  find: "Find",
  columns: { stream: "Stream", ended: "Ended", outcome: "Outcome", began: "Registered" },
  none: "No ended stream fits.",
  kept: "They are found for as long as the gateway keeps them.",
  more: "Show earlier ones",
};
