// The access key of the user: its secret is kept as a key that signs and cannot be read, in the browser's database, for twelve hours.
import { secretKey } from './sign.js'

const lifetime = 12 * 3600 * 1000

const done = request => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result)
  request.onerror = () => reject(request.error)
})

async function store(mode) {
  const open = indexedDB.open('pinion', 1)
  open.onupgradeneeded = () => open.result.createObjectStore('session')
  return (await done(open)).transaction('session', mode).objectStore('session')
}

export async function begin(keyID, secret) {
  const session = { keyID, key: await secretKey(secret), ends: Date.now() + lifetime }
  await done((await store('readwrite')).put(session, 'current'))
  return session
}

// current is the session of an earlier visit; undefined: there is none, or it is over.
export async function current() {
  const session = await done((await store('readonly')).get('current'))
  if (session && session.ends > Date.now()) return session
  if (session) await end()
}

export async function end() {
  await done((await store('readwrite')).delete('current'))
}
