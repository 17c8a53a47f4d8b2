import { Module } from '@nestjs/common';
import { EncryptionModule } from '../encryption/encryption.module.js';
import { MessagesController } from './messages.controller.js';
import { MessagesService } from './messages.service.js';

@Module({ imports: [EncryptionModule], controllers: [MessagesController], providers: [MessagesService] })
export class MessagesModule {}
