// The session of a user: keys that sign for twelve hours at most, in the browser's database. They are made of the secret access key, which is not kept,
// and no script can read them.
import { now } from './api.js'
import { signingKey } from './sign.js'

const lifetime = 12 * 3600 * 1000
const day = 24 * 3600 * 1000

// left tells the other tabs that the user has signed out.
const left = new BroadcastChannel('pinion')

// whenLeft calls back when the user signs out in another tab.
export const whenLeft = call => { left.onmessage = call }

const done = request => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result)
  request.onerror = () => reject(request.error)
})

async function store(mode) {
  const open = indexedDB.open('pinion', 1)
  open.onupgradeneeded = () => open.result.createObjectStore('session')
  return (await done(open)).transaction('session', mode).objectStore('session')
}

// make is a session that is not kept yet. login is what the pool says of a key that a login has made: whose it is, and when it ends.
export async function make(keyID, secret, login) {
  const keys = {}
  for (const time of [now(), now() + day]) {
    const date = new Date(time).toISOString().slice(0, 10).replaceAll('-', '')
    keys[date] = await signingKey(secret, date)
  }
  const ends = now() + lifetime
  return login ? { keyID, keys, ends: Math.min(ends, Date.parse(login.expiresAt)), person: login.person } : { keyID, keys, ends }
}

export const keep = async session => { await done((await store('readwrite')).put(session, 'current')) }

// current is the session of an earlier visit; undefined: there is none, or it is over.
export async function current() {
  const session = await done((await store('readonly')).get('current'))
  if (session && session.ends > now()) return session
  if (session) await end()
}

export async function end() {
  await done((await store('readwrite')).delete('current'))
  left.postMessage('left')
}
