// The log of a task as it is written, through interruptions.
import { Refused, sleep } from './api.js'

const slack = 10000 // milliseconds before the newest line from which a log is read again: a line may be stamped before one of another container and written after it
const maxWait = 30000 // milliseconds between two tries

// sortable is the time of a line with all nine digits of its second: as texts, such times are in their order.
const sortable = time => time.replace(/(?:\.(\d+))?Z$/, (_, digits = '') => '.' + digits.padEnd(9, '0') + 'Z')

// Position is how far the log of a task was read. The lines of each container come in the order of their times, which may be equal.
class Position {
  constructor() { this.containers = new Map() }

  // resume is the time from which the log is read again; undefined at the beginning.
  resume() {
    if (!this.newest) return undefined
    for (const reached of this.containers.values()) reached.skip = reached.lines
    const since = sortable(new Date(Date.parse(this.newest) - slack).toISOString())
    return since < this.first ? this.first : since // before the first line is what was left out
  }

  // advance moves the position over a line, and says whether the line is new.
  advance(line) {
    const time = sortable(line.time)
    const reached = this.containers.get(line.container) || { at: '', lines: 0, skip: 0 }
    this.containers.set(line.container, reached)
    if (time < reached.at) return false
    if (time === reached.at && reached.skip > 0) {
      reached.skip--
      return false
    }
    if (time > reached.at) Object.assign(reached, { at: time, lines: 0, skip: 0 })
    reached.lines++
    this.first ||= time
    if (!this.newest || time > this.newest) this.newest = time
    return true
  }
}

// follow reads the log of a task as it is written, until the task has ended and all is read, or signal says so. A stream that breaks off goes on where it
// was, without a gap or a line twice; told is called with why it broke off.
export async function follow(store, id, take, told, signal) {
  const position = new Position()
  for (let wait = 1000; !signal.aborted; wait = Math.min(2 * wait, maxWait)) {
    try {
      const since = position.resume()
      await store.client.lines(`/v1/tasks/${id}/logs`, since ? { since, follow: 1 } : { tail: 1000, follow: 1 }, text => {
        if (!text) return
        const line = JSON.parse(text)
        wait = 1000
        if (position.advance(line)) take(line)
      }, signal)
      const task = store.tasks.get(id)
      if (!task || task.lastStatus === 'STOPPED') return
    } catch (problem) {
      if (signal.aborted) return
      told(problem)
      if (problem instanceof Refused && problem.status < 500) return // or the host has just started, say
    }
    await sleep(wait, signal)
  }
}
