"""turnscope's explaining half: records of exchanges in, the reasons for the wait out.

`store` reads journals, `explain` makes plain values of what was read, `render` makes text or JSON of
those. Folders here hold no state; the files beside this one are the commands.
"""
