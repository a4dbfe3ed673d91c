"""Sample sounds: whole audio files of several formats, written with their tags and covers."""
