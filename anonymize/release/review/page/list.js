// Which pictures are gone through, and in what order.

const FILTERS = {
  all: () => true,
  undecided: (picture) => picture.state === "undecided",
  text: (picture) => picture.text > 0,
  quarantined: (picture) => picture.state === "quarantined",
};
const ORDERS = {
  name: (one, other) => one.number - other.number,
  // The least like its input first; what is not known comes last.
  change: (one, other) => (one.ssim ?? 2) - (other.ssim ?? 2) || one.number - other.number,
};

export class List {
  constructor(pictures) {
    this.pictures = pictures;
    this.choose("all", "name");
  }

  // What is decided from now on stays in the list until the next choice.
  choose(filter, order) {
    this.chosen = this.pictures.filter(FILTERS[filter]).sort(ORDERS[order]);
    this.place = Math.max(0, this.chosen.findIndex(FILTERS.undecided));
  }

  get current() {
    return this.chosen[this.place];
  }

  move(step) {
    this.place = Math.min(Math.max(this.place + step, 0), Math.max(this.chosen.length - 1, 0));
  }

  // To the next that nobody looked at, from the beginning where the end has none; else it stays.
  forward() {
    const open = (from, to) => {
      const found = this.chosen.slice(from, to).findIndex(FILTERS.undecided);
      return found < 0 ? -1 : from + found;
    };
    const after = open(this.place + 1, this.chosen.length);
    const found = after < 0 ? open(0, this.place) : after;
    if (found >= 0) this.place = found;
  }

  // Those that are likely to be looked at next.
  get coming() {
    const rest = this.chosen.slice(this.place + 1);
    return [...new Set([...rest.filter(FILTERS.undecided).slice(0, 2), ...rest.slice(0, 1)])];
  }
}
