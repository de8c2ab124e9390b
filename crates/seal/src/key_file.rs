//! The file with the sealing keys of one machine: one key per line, readable by the owner only.

use super::{NoRandomness, SealError, SecretKeys, random_text};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// It cannot be read or written.
    #[error("cannot read or create the key file {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// Other users may read it.
    #[error("the key file {} is accessible to other users: run chmod 600 {}", path.display(), path.display())]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// Its content is not a list of keys.
    #[error("invalid key file {}: {error}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: SealError,
    },
    /// No key could be generated.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

impl SecretKeys {
    /// Reads the keys in that file. Creates the file with one new key if it does not exist.
    pub fn load_or_create(path: &Path) -> Result<SecretKeys, KeyFileError> {
        let failed = |error| KeyFileError::Io { path: path.to_owned(), error };
        let mut file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                create(path, &SecretKeys::generate()?, &random_text::<8>("")?).map_err(failed)?;
                File::open(path)
            }
            opened => opened,
        }
        .map_err(failed)?;
        if file.metadata().map_err(failed)?.permissions().mode() & 0o077 != 0 {
            return Err(KeyFileError::Open { path: path.to_owned() });
        }
        let mut text = Zeroizing::new(String::new());
        file.read_to_string(&mut text).map_err(failed)?;
        SecretKeys::parse(text.lines().filter(|line| !line.trim().is_empty()))
            .map_err(|error| KeyFileError::Content { path: path.to_owned(), error })
    }
}

/// Creates the file atomically. If two processes start concurrently, one creates the file and both use it.
fn create(path: &Path, key: &str, random: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let draft = folder.join(format!(".secret-keys-{random}"));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let created = file
        .write_all(format!("{key}\n").as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::hard_link(&draft, path))
        .or_else(|error| if error.kind() == ErrorKind::AlreadyExists { Ok(()) } else { Err(error) });
    fs::remove_file(&draft)?;
    created?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> PathBuf {
        let name = random_text::<8>("tofrom-key-file-").unwrap();
        let folder = std::env::temp_dir().join(name.as_str());
        fs::create_dir(&folder).unwrap();
        folder
    }

    #[test]
    fn the_file_is_created_once_and_for_the_owner_only() {
        let folder = folder();
        let path = folder.join("secret-keys");
        let sealed = SecretKeys::load_or_create(&path).unwrap().seal(b"secret", "").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(SecretKeys::load_or_create(&path).unwrap().open(&sealed, "").is_ok());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no draft is left");

        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(SecretKeys::load_or_create(&path), Err(KeyFileError::Open { .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "\nsecret rubbish\n").unwrap();
        let error = SecretKeys::load_or_create(&path).unwrap_err();
        assert!(!error.to_string().contains("rubbish"), "{error}");
        fs::remove_dir_all(&folder).unwrap();
        assert!(matches!(SecretKeys::load_or_create(&path), Err(KeyFileError::Io { .. })), "no folder");
    }

    #[test]
    fn concurrent_starts_use_one_key() {
        let folder = folder();
        let path = folder.join("secret-keys");
        let keys: Vec<SecretKeys> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| SecretKeys::load_or_create(&path))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
        });
        let sealed = keys[0].seal(b"secret", "").unwrap();
        assert!(keys.iter().all(|keys| keys.open(&sealed, "").is_ok()));
        fs::remove_dir_all(&folder).unwrap();
    }
}
