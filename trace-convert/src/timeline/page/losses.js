// Losses of records.

// Losses ordered by their begin.
class Losses {
  constructor(list) {
    this.list = list.sort((a, b) => a.from - b.from);
    this.begin = Float64Array.from(list, ({from}) => from);
    // The latest end, and the records lost, up to each loss.
    this.end = new Float64Array(list.length);
    this.count = new Float64Array(list.length);
    let end = 0, count = 0;
    list.forEach((loss, place) => {
      this.end[place] = end = Math.max(end, loss.to);
      this.count[place] = count += loss.count;
    });
  }

  // Yields {from, to, text} for each loss between two times. Losses that begin before `next` of the
  // first one's begin are one.
  *between(from, to, next) {
    const {list, begin, end, count} = this;
    for (let place = lowerBound(end, from); place < list.length && begin[place] <= to;) {
      const first = list[place], after = gallop(begin, next(first.from), place + 1);
      if (after === place + 1) yield {from: first.from, to: first.to, text: `${first.count} lost: ${first.reason}`};
      else yield {from: first.from, to: end[after - 1], text: `${count[after - 1] - (count[place - 1] ?? 0)} lost`};
      place = after;
    }
  }

  // Returns a loss between two times, or null.
  at(from, to) {
    const {list, begin, end} = this;
    for (let place = lowerBound(end, from); place < list.length && begin[place] <= to; place++) {
      if (list[place].to >= from) return list[place];
    }
    return null;
  }
}
