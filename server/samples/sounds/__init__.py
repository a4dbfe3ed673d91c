"""Sample sounds: complete audio files of several formats, with tags and covers."""
